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
  const [requester, worker] = [await parley.agent('requester', { capabilities: [] }), await parley.agent('worker')];
  const otherWorker = await parley.agent('other-worker');
  return { parley, requester, worker, otherWorker };
};

const beat = async ({ clock }: TestParley, agent: TestAgent, payload: object = {}, headers = {}) => {
  const said = { status: 'busy', capabilities: [], ...payload };
  const timestamp = new Date(clock.now()).toISOString();
  const message = { id: randomUUID(), version: '1.0', type: 'heartbeat', from: agent.id, timestamp, payload: said };
  assert.equal((await agent.call('POST', '/v1/messages', message, headers)).status, 202);
};

const passes = async (parley: TestParley, ms: number) => {
  parley.clock.advance(ms);
  await settled(parley);
};

const isReleased = ({ admin }: TestParley, id: string) =>
  eventually(async () => assert.equal((await admin.call('GET', `/v1/tasks/${id}`)).body.state, 'requested'));

const stateOf = async ({ admin }: TestParley, id: string): Promise<string> =>
  (await admin.call('GET', `/v1/tasks/${id}`)).body.state;

describe('lease renewal by heartbeats', () => {
  it('keeps the lease of a task for 20 minutes by heartbeats alone until its holder completes it', async (t) => {
    const { parley, requester, worker, otherWorker } = await scene(t);
    const id = await requester.request();
    assert.equal((await worker.claim()).length, 1);
    for (let minutes = 0; minutes < 20; minutes++) {
      await beat(parley, worker, { activeTaskCount: 1 });
      await passes(parley, MINUTE_MS);
      assert.deepEqual(await otherWorker.claim(), []);
    }
    assert.equal((await worker.complete(id)).status, 202);
    const { state, history } = await requester.task(id);
    assert.equal(state, 'completed');
    assert.equal(history.filter(({ event }: { event: string }) => event === 'claimed').length, 1);
  });

  it('returns a task to its queue one lease after the last heartbeat of its holder', async (t) => {
    const { parley, requester, worker } = await scene(t);
    const id = await requester.request();
    await worker.claim();
    await passes(parley, 4 * MINUTE_MS);
    await beat(parley, worker);
    await passes(parley, 5 * MINUTE_MS - 1);
    assert.equal(await stateOf(parley, id), 'claimed');
    await passes(parley, 1);
    await isReleased(parley, id);
  });

  for (const [what, payload] of [
    ['that it works on nothing', { activeTaskCount: 0 }],
    ['that it began after the claim', { activeTaskCount: 1, uptime: 30 }],
  ] as const) {
    it(`returns a task to its queue when the heartbeat of its holder says ${what}`, async (t) => {
      const { parley, requester, worker } = await scene(t);
      const id = await requester.request();
      await worker.claim();
      await passes(parley, 4 * MINUTE_MS);
      await beat(parley, worker, payload);
      await passes(parley, MINUTE_MS);
      await isReleased(parley, id);
    });
  }

  it('returns a task to its queue after four hours with heartbeats and no report on the task', async (t) => {
    const { parley, requester, worker } = await scene(t);
    const id = await requester.request();
    await worker.claim();
    for (let minutes = 0; minutes < 240; minutes += 4) {
      assert.equal(await stateOf(parley, id), 'claimed', `after ${minutes} minutes`);
      await beat(parley, worker);
      await passes(parley, 4 * MINUTE_MS);
    }
    await isReleased(parley, id);
  });

  it('renews only the leases of the instance that a heartbeat names', async (t) => {
    const { parley, requester, worker } = await scene(t);
    const ids = [await requester.request(), await requester.request()];
    await worker.claim({ instance: 'one' });
    await worker.claim({ instance: 'two' });
    for (let minutes = 0; minutes < 8; minutes++) {
      await beat(parley, worker, { instance: 'two' });
      await passes(parley, MINUTE_MS);
    }
    await isReleased(parley, ids[0] ?? '');
    assert.equal(await stateOf(parley, ids[1] ?? ''), 'claimed');
  });

  it('keeps the lease of one instance although another instance reports that it is idle or has just started', async (t) => {
    const { parley, requester, worker } = await scene(t);
    const id = await requester.request();
    await worker.claim({ instance: 'one' });
    for (let minutes = 0; minutes < 8; minutes++) {
      await beat(parley, worker, { instance: 'one', activeTaskCount: 1 });
      parley.clock.advance(1000);
      await beat(parley, worker, { instance: 'two', activeTaskCount: 0, uptime: 1 });
      await passes(parley, MINUTE_MS - 1000);
    }
    assert.equal(await stateOf(parley, id), 'claimed');
  });

  it('keeps the lease of a task by heartbeats after a question that was answered hours later', async (t) => {
    const { parley, requester } = await scene(t);
    const taskFormatWorker = await parley.agent('task-format-worker', { dialect: 'task-format' });
    const id = await requester.request({ to: 'task-format-worker' });
    assert.equal((await taskFormatWorker.claim()).length, 1);
    const asked = {
      id,
      status: 'input_required',
      input: { prompt: 'which?' },
      metadata: { agent: 'task-format-worker' },
    };
    assert.equal((await taskFormatWorker.send(asked)).status, 202);
    await passes(parley, 300 * MINUTE_MS);
    assert.equal((await requester.call('POST', `/v1/tasks/${id}/input`, { input: 'this' })).status, 202);
    for (let minutes = 0; minutes < 8; minutes++) {
      await beat(parley, taskFormatWorker, { activeTaskCount: 1 }, ROUND_TABLE);
      await passes(parley, MINUTE_MS);
    }
    assert.equal(await stateOf(parley, id), 'claimed');
  });
});

describe('lease duration', () => {
  it('extends a lease to the estimated duration, at most one hour, and does not shorten it on progress', async (t) => {
    const { parley, requester, worker } = await scene(t);
    const ids = [await requester.request(), await requester.request()];
    const [first = '', second = ''] = ids;
    await worker.claim();
    await worker.claimed(first, { estimatedDurationSeconds: 1200 });
    await worker.claimed(second, { estimatedDurationSeconds: 86_400 });
    await worker.progress(first);
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

  it('uses the lease duration that a claim names and starts it again on renewal', async (t) => {
    const { parley, requester, worker } = await scene(t);
    const id = await requester.request();
    const [claimed] = await worker.claim({ lease: 900 });
    assert.equal(Date.parse(claimed.lease.until) - parley.clock.now(), 900_000);
    await passes(parley, 10 * MINUTE_MS);
    assert.equal((await worker.call('POST', `/v1/tasks/${id}/renew`)).status, 200);
    await passes(parley, 15 * MINUTE_MS - 1);
    assert.equal(await stateOf(parley, id), 'claimed');
    await passes(parley, 1);
    await isReleased(parley, id);
  });

  it('accepts a lease shorter than the default and caps it at one hour', async (t) => {
    const { parley, requester, worker } = await scene(t);
    const id = await requester.request();
    await worker.claim({ lease: 10 });
    await passes(parley, 10_000);
    await isReleased(parley, id);
    const [again] = await worker.claim({ lease: 7200 });
    assert.equal(Date.parse(again.lease.until) - parley.clock.now(), 3_600_000);
  });
});
