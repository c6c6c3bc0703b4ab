import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { settled } from '../http/refusal.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const PERIOD_MS = 60_000;
const SILENT_MS = 3 * PERIOD_MS;

const said = {
  status: 'healthy',
  uptime: 86_400,
  capabilities: ['security.briefing', 'security.cve-analysis'],
  activeTaskCount: 1,
  model: 'claude-sonnet-4-20250514',
  version: '1.0.0',
};

const heartbeat = (from: string, sentAt: number, payload: object = said) => ({
  id: randomUUID() as string,
  version: '1.0',
  type: 'heartbeat',
  from,
  timestamp: new Date(sentAt).toISOString(),
  payload,
});

const beats = async ({ clock }: TestParley, agent: TestAgent, payload?: object) =>
  assert.equal((await agent.send(heartbeat(agent.id, clock.now(), payload))).status, 202);

const healthOf = async ({ admin }: TestParley, id: string) => (await admin.call('GET', `/v1/agents/${id}`)).body.health;

const told = async (parley: TestParley, id: string): Promise<string[]> => {
  await settled(parley);
  const { events } = (await parley.admin.call('GET', '/v1/events?type=agent.online,agent.offline')).body;
  const about = events.filter(({ data }: { data: { agent: string } }) => data.agent === id);
  return about.map(({ type }: { type: string }) => type);
};

const isTold = (parley: TestParley, id: string, ...types: string[]) =>
  eventually(async () => assert.deepEqual(await told(parley, id), types));

/** An agent whose health was read a second before it went offline, so that the read may still be cached. */
const silentAfterALook = async (t: TestContext) => {
  const parley = await testParley(t);
  const worker = await parley.agent('worker');
  await beats(parley, worker);
  parley.clock.advance(SILENT_MS - 1000);
  assert.equal((await healthOf(parley, 'worker')).online, true);
  parley.clock.advance(1000);
  await isTold(parley, 'worker', 'agent.online', 'agent.offline');
  return { parley, worker };
};

describe('heartbeat', () => {
  it('shows every field of a heartbeat in the health of its agent', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    const lastSeen = new Date(parley.clock.now()).toISOString();
    assert.deepEqual(await healthOf(parley, 'worker'), { lastSeen });
    await beats(parley, worker);
    assert.deepEqual(await healthOf(parley, 'worker'), { online: true, lastSeen, ...said });
    const { agents } = (await parley.admin.call('GET', '/v1/agents')).body;
    assert.deepEqual(agents[0].health, { online: true, lastSeen, ...said });
    await isTold(parley, 'worker', 'agent.online');
  });

  it('accepts a heartbeat that says nothing but that its agent lives', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    await beats(parley, worker, { status: 'busy' });
    const busy = await healthOf(parley, 'worker');
    assert.deepEqual([busy.online, busy.status], [true, 'busy']);
    parley.clock.advance(1000);
    await beats(parley, worker, {});
    assert.equal((await healthOf(parley, 'worker')).status, 'healthy');
  });

  it('ignores a heartbeat that is older than the last one', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    const now = parley.clock.now();
    await worker.send(heartbeat('worker', now - 1000, { ...said, status: 'newest' }));
    const older = await worker.send(heartbeat('worker', now - 2000, { ...said, status: 'older' }));
    assert.equal(older.status, 202);
    assert.equal((await healthOf(parley, 'worker')).status, 'newest');
  });

  it('accepts later heartbeats after one from a clock that is ahead', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    await worker.send(heartbeat('worker', parley.clock.now() + 3_600_000, { ...said, status: 'ahead' }));
    parley.clock.advance(PERIOD_MS);
    await beats(parley, worker, { ...said, status: 'right' });
    assert.equal((await healthOf(parley, 'worker')).status, 'right');
  });

  it('gives an agent no domain because of the capabilities in its heartbeat', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker', {})];
    const id = await requester.request();
    await beats(parley, worker);
    assert.deepEqual(await worker.claim(), []);
    assert.equal((await worker.call('GET', `/v1/tasks/${id}`)).status, 404);
  });

  it('keeps the health of an agent across a restart', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    await beats(parley, worker);
    const before = await healthOf(parley, 'worker');
    await parley.restart();
    assert.deepEqual(await healthOf(parley, 'worker'), before);
    parley.clock.advance(SILENT_MS);
    await isTold(parley, 'worker', 'agent.online', 'agent.offline');
  });
});

describe('agent health', () => {
  it('sets an agent offline after three silent periods, and online with its next heartbeat', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    await beats(parley, worker);
    parley.clock.advance(SILENT_MS - 1);
    assert.deepEqual(await told(parley, 'worker'), ['agent.online']);
    parley.clock.advance(1);
    await isTold(parley, 'worker', 'agent.online', 'agent.offline');
    parley.clock.advance(10_000);
    assert.equal((await healthOf(parley, 'worker')).online, false);
    await beats(parley, worker);
    await isTold(parley, 'worker', 'agent.online', 'agent.offline', 'agent.online');
    assert.equal((await healthOf(parley, 'worker')).online, true);
  });

  it('keeps an agent online while its heartbeats arrive', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    for (let period = 0; period < 10; period++) {
      await beats(parley, worker);
      parley.clock.advance(PERIOD_MS);
      assert.deepEqual(await told(parley, 'worker'), ['agent.online']);
    }
  });

  it('sets an offline agent online with any call', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    await beats(parley, worker);
    parley.clock.advance(SILENT_MS);
    await isTold(parley, 'worker', 'agent.online', 'agent.offline');
    parley.clock.advance(10_000);
    await worker.claim();
    assert.deepEqual(await told(parley, 'worker'), ['agent.online', 'agent.offline', 'agent.online']);
  });

  it('sets an offline agent online with its first call, although its health was read shortly before', async (t) => {
    const { parley, worker } = await silentAfterALook(t);
    await worker.claim();
    assert.deepEqual(await told(parley, 'worker'), ['agent.online', 'agent.offline', 'agent.online']);
  });

  it('shows an agent offline at once, although its health was read shortly before', async (t) => {
    const { parley } = await silentAfterALook(t);
    assert.equal((await healthOf(parley, 'worker')).online, false);
  });

  it('keeps a Message Routing agent online while it makes long-waiting calls', async (t) => {
    const parley = await testParley(t);
    const coder = await parley.agent('coder', messageRouting);
    await coder.send(mrMessage('heartbeat', 'coder', 'coordinator'));
    parley.clock.advance(10_000);
    for (let calls = 0; calls < 4; calls++) {
      await coder.inbox();
      parley.clock.advance(21_000);
      assert.deepEqual(await told(parley, 'coder'), ['agent.online']);
    }
    parley.clock.advance(9000);
    await isTold(parley, 'coder', 'agent.online', 'agent.offline');
  });

  it('gives no online state to an agent that never sends a heartbeat', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    await worker.claim();
    parley.clock.advance(10 * SILENT_MS);
    assert.deepEqual(await told(parley, 'worker'), []);
    assert.equal((await healthOf(parley, 'worker')).online, undefined);
  });

  it('queues a task for an offline agent', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    await beats(parley, worker);
    parley.clock.advance(SILENT_MS);
    await isTold(parley, 'worker', 'agent.online', 'agent.offline');
    const id = await requester.request({ to: 'worker' });
    assert.equal((await worker.claim())[0].message.id, id);
  });
});
