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

/** What was told of the agent's health so far. */
const told = async (parley: TestParley, id: string): Promise<string[]> => {
  await settled(parley);
  const { events } = (await parley.admin.call('GET', '/v1/events?type=agent.online,agent.offline')).body;
  const about = events.filter(({ data }: { data: { agent: string } }) => data.agent === id);
  return about.map(({ type }: { type: string }) => type);
};

const isTold = (parley: TestParley, id: string, ...types: string[]) =>
  eventually(async () => assert.deepEqual(await told(parley, id), types));

/** An agent that somebody looked at a second before it fell silent, so that the look may still be remembered. */
const silentAfterALook = async (t: TestContext) => {
  const parley = await testParley(t);
  const galahad = await parley.agent('galahad');
  await beats(parley, galahad);
  parley.clock.advance(SILENT_MS - 1000);
  assert.equal((await healthOf(parley, 'galahad')).online, true);
  parley.clock.advance(1000);
  await isTold(parley, 'galahad', 'agent.online', 'agent.offline');
  return { parley, galahad };
};

describe('a heartbeat', () => {
  it('is shown with everything that it said', async (t) => {
    const parley = await testParley(t);
    const galahad = await parley.agent('galahad');
    assert.deepEqual(await healthOf(parley, 'galahad'), {});
    await beats(parley, galahad);
    const lastSeen = new Date(parley.clock.now()).toISOString();
    assert.deepEqual(await healthOf(parley, 'galahad'), { online: true, lastSeen, ...said });
    const { agents } = (await parley.admin.call('GET', '/v1/agents')).body;
    assert.deepEqual(agents[0].health, { online: true, lastSeen, ...said });
    await isTold(parley, 'galahad', 'agent.online');
  });

  it('that is older than another changes nothing, in whatever order they arrive', async (t) => {
    const parley = await testParley(t);
    const galahad = await parley.agent('galahad');
    const now = parley.clock.now();
    await galahad.send(heartbeat('galahad', now - 1000, { ...said, status: 'newest' }));
    const older = await galahad.send(heartbeat('galahad', now - 2000, { ...said, status: 'older' }));
    assert.equal(older.status, 202);
    assert.equal((await healthOf(parley, 'galahad')).status, 'newest');
  });

  it('from a clock that is ahead does not hide the later ones', async (t) => {
    const parley = await testParley(t);
    const galahad = await parley.agent('galahad');
    await galahad.send(heartbeat('galahad', parley.clock.now() + 3_600_000, { ...said, status: 'ahead' }));
    parley.clock.advance(PERIOD_MS);
    await beats(parley, galahad, { ...said, status: 'right' });
    assert.equal((await healthOf(parley, 'galahad')).status, 'right');
  });

  it('gives an agent no domain that an administrator did not give it', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad', {})];
    const id = await tim.request();
    await beats(parley, galahad);
    assert.deepEqual(await galahad.claim(), []);
    assert.equal((await galahad.call('GET', `/v1/tasks/${id}`)).status, 404);
  });

  it('survives a restart', async (t) => {
    const parley = await testParley(t);
    const galahad = await parley.agent('galahad');
    await beats(parley, galahad);
    const before = await healthOf(parley, 'galahad');
    await parley.restart();
    assert.deepEqual(await healthOf(parley, 'galahad'), before);
    parley.clock.advance(SILENT_MS);
    await isTold(parley, 'galahad', 'agent.online', 'agent.offline');
  });
});

describe('an agent', () => {
  it('is offline after three silent periods, and online with its next heartbeat', async (t) => {
    const parley = await testParley(t);
    const galahad = await parley.agent('galahad');
    await beats(parley, galahad);
    parley.clock.advance(SILENT_MS - 1);
    assert.deepEqual(await told(parley, 'galahad'), ['agent.online']);
    parley.clock.advance(1);
    await isTold(parley, 'galahad', 'agent.online', 'agent.offline');
    parley.clock.advance(10_000);
    assert.equal((await healthOf(parley, 'galahad')).online, false);
    await beats(parley, galahad);
    await isTold(parley, 'galahad', 'agent.online', 'agent.offline', 'agent.online');
    assert.equal((await healthOf(parley, 'galahad')).online, true);
  });

  it('stays online while its heartbeats come', async (t) => {
    const parley = await testParley(t);
    const galahad = await parley.agent('galahad');
    for (let period = 0; period < 10; period++) {
      await beats(parley, galahad);
      parley.clock.advance(PERIOD_MS);
      assert.deepEqual(await told(parley, 'galahad'), ['agent.online']);
    }
  });

  it('is online again with any call', async (t) => {
    const parley = await testParley(t);
    const galahad = await parley.agent('galahad');
    await beats(parley, galahad);
    parley.clock.advance(SILENT_MS);
    await isTold(parley, 'galahad', 'agent.online', 'agent.offline');
    parley.clock.advance(10_000);
    await galahad.claim();
    assert.deepEqual(await told(parley, 'galahad'), ['agent.online', 'agent.offline', 'agent.online']);
  });

  it('is online again with its first call, although somebody looked at it shortly before it fell silent', async (t) => {
    const { parley, galahad } = await silentAfterALook(t);
    await galahad.claim();
    assert.deepEqual(await told(parley, 'galahad'), ['agent.online', 'agent.offline', 'agent.online']);
  });

  it('is shown offline as soon as it is, although somebody looked at it shortly before', async (t) => {
    const { parley } = await silentAfterALook(t);
    assert.equal((await healthOf(parley, 'galahad')).online, false);
  });

  it('of Message Routing is not found silent while it calls, though it waits for long each time', async (t) => {
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

  it('that never sends a heartbeat is neither online nor offline', async (t) => {
    const parley = await testParley(t);
    const galahad = await parley.agent('galahad');
    await galahad.claim();
    parley.clock.advance(10 * SILENT_MS);
    assert.deepEqual(await told(parley, 'galahad'), []);
    assert.equal((await healthOf(parley, 'galahad')).online, undefined);
  });

  it('that is offline is still queued for', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    await beats(parley, galahad);
    parley.clock.advance(SILENT_MS);
    await isTold(parley, 'galahad', 'agent.online', 'agent.offline');
    const id = await tim.request({ to: 'galahad' });
    assert.equal((await galahad.claim())[0].message.id, id);
  });
});
