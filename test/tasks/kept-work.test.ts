import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { settled } from '../http/refusal.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const MINUTE_MS = 60_000;
const ROUND_TABLE = { 'parley-dialect': 'round-table' };

const scene = async (t: TestContext) => {
  const parley = await testParley(t);
  const [tim, kay] = [await parley.agent('tim', { capabilities: [] }), await parley.agent('kay')];
  const bors = await parley.agent('bors');
  return { parley, tim, kay, bors };
};

const beat = async ({ clock }: TestParley, agent: TestAgent, payload: object = {}, headers = {}) => {
  const said = { status: 'busy', capabilities: [], ...payload };
  const timestamp = new Date(clock.now()).toISOString();
  const message = { id: randomUUID(), version: '1.0', type: 'heartbeat', from: agent.id, timestamp, payload: said };
  assert.equal((await agent.call('POST', '/v1/messages', message, headers)).status, 202);
};

/** Time passes, and whatever was due in it has happened. */
const passes = async (parley: TestParley, ms: number) => {
  parley.clock.advance(ms);
  await settled(parley);
};

const isReleased = ({ admin }: TestParley, id: string) =>
  eventually(async () => assert.equal((await admin.call('GET', `/v1/tasks/${id}`)).body.state, 'requested'));

const stateOf = async ({ admin }: TestParley, id: string): Promise<string> =>
  (await admin.call('GET', `/v1/tasks/${id}`)).body.state;

describe('a worker that lives', () => {
  it('works 20 minutes in silence but for heartbeats and finishes its task, once', async (t) => {
    const { parley, tim, kay, bors } = await scene(t);
    const id = await tim.request();
    assert.equal((await kay.claim()).length, 1);
    for (let minutes = 0; minutes < 20; minutes++) {
      await beat(parley, kay, { activeTaskCount: 1 });
      await passes(parley, MINUTE_MS);
      assert.deepEqual(await bors.claim(), []);
    }
    assert.equal((await kay.complete(id)).status, 202);
    const { state, history } = await tim.task(id);
    assert.equal(state, 'completed');
    assert.equal(history.filter(({ event }: { event: string }) => event === 'claimed').length, 1);
  });

  it('loses its task one lease after its last heartbeat', async (t) => {
    const { parley, tim, kay } = await scene(t);
    const id = await tim.request();
    await kay.claim();
    await passes(parley, 4 * MINUTE_MS);
    await beat(parley, kay);
    await passes(parley, 5 * MINUTE_MS - 1);
    assert.equal(await stateOf(parley, id), 'claimed');
    await passes(parley, 1);
    await isReleased(parley, id);
  });

  for (const [what, payload] of [
    ['that it works on nothing', { activeTaskCount: 0 }],
    ['that it began after the claim', { activeTaskCount: 1, uptime: 30 }],
  ] as const) {
    it(`loses its task where its heartbeat says ${what}`, async (t) => {
      const { parley, tim, kay } = await scene(t);
      const id = await tim.request();
      await kay.claim();
      await passes(parley, 4 * MINUTE_MS);
      await beat(parley, kay, payload);
      await passes(parley, MINUTE_MS);
      await isReleased(parley, id);
    });
  }

  it('does not keep by heartbeats alone what it says nothing of for hours', async (t) => {
    const { parley, tim, kay } = await scene(t);
    const id = await tim.request();
    await kay.claim();
    for (let minutes = 0; minutes < 240; minutes += 4) {
      assert.equal(await stateOf(parley, id), 'claimed', `after ${minutes} minutes`);
      await beat(parley, kay);
      await passes(parley, 4 * MINUTE_MS);
    }
    await isReleased(parley, id);
  });

  it('is told by its instance where claims and heartbeats name those', async (t) => {
    const { parley, tim, kay } = await scene(t);
    const ids = [await tim.request(), await tim.request()];
    await kay.claim({ instance: 'one' });
    await kay.claim({ instance: 'two' });
    for (let minutes = 0; minutes < 8; minutes++) {
      await beat(parley, kay, { instance: 'two' });
      await passes(parley, MINUTE_MS);
    }
    await isReleased(parley, ids[0] ?? '');
    assert.equal(await stateOf(parley, ids[1] ?? ''), 'claimed');
  });

  it('keeps its task though another of its instances is idle, or has just begun', async (t) => {
    const { parley, tim, kay } = await scene(t);
    const id = await tim.request();
    await kay.claim({ instance: 'one' });
    for (let minutes = 0; minutes < 8; minutes++) {
      await beat(parley, kay, { instance: 'one', activeTaskCount: 1 });
      parley.clock.advance(1000);
      await beat(parley, kay, { instance: 'two', activeTaskCount: 0, uptime: 1 });
      await passes(parley, MINUTE_MS - 1000);
    }
    assert.equal(await stateOf(parley, id), 'claimed');
  });

  it('keeps its task by heartbeats after a question that was answered hours later', async (t) => {
    const { parley, tim } = await scene(t);
    const lucan = await parley.agent('lucan', { dialect: 'task-format' });
    const id = await tim.request({ to: 'lucan' });
    assert.equal((await lucan.claim()).length, 1);
    const asked = { id, status: 'input_required', input: { prompt: 'which?' }, metadata: { agent: 'lucan' } };
    assert.equal((await lucan.send(asked)).status, 202);
    await passes(parley, 300 * MINUTE_MS);
    assert.equal((await tim.call('POST', `/v1/tasks/${id}/input`, { input: 'this' })).status, 202);
    for (let minutes = 0; minutes < 8; minutes++) {
      await beat(parley, lucan, { activeTaskCount: 1 }, ROUND_TABLE);
      await passes(parley, MINUTE_MS);
    }
    assert.equal(await stateOf(parley, id), 'claimed');
  });
});

describe('a lease', () => {
  it('is as long as the claim estimates, up to an hour, and progress does not shorten it', async (t) => {
    const { parley, tim, kay } = await scene(t);
    const ids = [await tim.request(), await tim.request()];
    const [first = '', second = ''] = ids;
    await kay.claim();
    await kay.claimed(first, { estimatedDurationSeconds: 1200 });
    await kay.claimed(second, { estimatedDurationSeconds: 86_400 });
    await kay.progress(first);
    await passes(parley, 20 * MINUTE_MS - 1);
    assert.equal(await stateOf(parley, first), 'in_progress');
    await passes(parley, 1);
    await isReleased(parley, first);
    await passes(parley, 40 * MINUTE_MS - 1);
    assert.equal(await stateOf(parley, second), 'claimed');
    await passes(parley, 1);
    assert.notEqual(
      await eventually(async () => {
        const state = await stateOf(parley, second);
        assert.notEqual(state, 'claimed');
        return state;
      }),
      'completed',
    );
  });

  it('is as long as a claim names it, and each sign of life gives it anew', async (t) => {
    const { parley, tim, kay } = await scene(t);
    const id = await tim.request();
    const [claimed] = await kay.claim({ lease: 900 });
    assert.equal(Date.parse(claimed.lease.until) - parley.clock.now(), 900_000);
    await passes(parley, 10 * MINUTE_MS);
    assert.equal((await kay.call('POST', `/v1/tasks/${id}/renew`)).status, 200);
    await passes(parley, 15 * MINUTE_MS - 1);
    assert.equal(await stateOf(parley, id), 'claimed');
    await passes(parley, 1);
    await isReleased(parley, id);
  });

  it('may be shorter than the usual one, and no longer than an hour', async (t) => {
    const { parley, tim, kay } = await scene(t);
    const id = await tim.request();
    await kay.claim({ lease: 10 });
    await passes(parley, 10_000);
    await isReleased(parley, id);
    const [again] = await kay.claim({ lease: 7200 });
    assert.equal(Date.parse(again.lease.until) - parley.clock.now(), 3_600_000);
  });
});
