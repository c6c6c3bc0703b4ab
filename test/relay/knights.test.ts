import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { defineConfig } from '../../shared/config/config.ts';
import { eventually } from '../support/eventually.ts';
import { consumerOf, nextOf, type RelaySite, relaySite, SITE_CONFIG } from '../support/relay-site.ts';
import { TestClock } from '../support/test-clock.ts';

const KNIGHT = { transport: 'nats', profile: 'knight', domains: ['security'] };
const TASKS = 'roundtable.tasks.security.briefing';
const MINUTE_MS = 60_000;

const scene = async (t: TestContext, options: Parameters<typeof relaySite>[1] = {}) => {
  const site = await relaySite(t, options);
  const tim = await site.agent('tim', {});
  await site.agent('galahad', KNIGHT);
  const relay = await site.relay();
  // As pi-knight reads: what it takes is acknowledged at once and comes once.
  const tasks = await consumerOf(site.client, 'ROUNDTABLE_TASKS', {
    durable_name: 'galahad-consumer',
    filter_subject: 'roundtable.tasks.security.>',
    max_deliver: 1,
  });
  return { site, tim, relay, tasks };
};

const say = ({ client }: RelaySite, subject: string, message: object) =>
  jetstream(client).publish(subject, JSON.stringify(message));

/** How many tasks anybody ever published. */
const countTasks = async ({ client }: RelaySite): Promise<number> =>
  (await (await jetstreamManager(client)).streams.info('ROUNDTABLE_TASKS')).state.last_seq;

const lastOn = async ({ client }: RelaySite, subject: string) =>
  eventually(async () => {
    const jsm = await jetstreamManager(client);
    const stored = await jsm.streams.getMessage('ROUNDTABLE_RESULTS', { last_by_subj: subject });
    assert.ok(stored, `nothing on ${subject}`);
    return stored.json<Record<string, unknown>>();
  });

const piKnightResult = (taskId: string, more: object = {}) => ({
  task_id: taskId,
  knight: 'Galahad',
  success: true,
  result: 'All quiet.',
  duration_ms: 45_000,
  cost: 0.12,
  tokens: { input: 5000, output: 2000 },
  model: 'large-model-1',
  tool_calls: 3,
  timestamp: '2026-02-23T18:00:45.000Z',
  ...more,
});

describe('a knight as it runs', () => {
  it('reads its task as a text with an id, and its result ends the task', async (t) => {
    const { site, tim, relay, tasks } = await scene(t);
    const id = await tim.request({ ttl: 900 });
    const { subject, body } = await nextOf(tasks);
    assert.equal(subject, TASKS);
    assert.equal(body.task, 'security.briefing\n\n{"params":{"scope":"daily"}}');
    assert.deepEqual([body.task_id, body.taskId, body.id, body.domain], [id, id, id, 'security']);
    assert.equal(body.metadata.timeout_ms, 900_000);
    assert.equal(body.payload.task, 'security.briefing');
    await say(site, `roundtable.results.security.${body.task_id}`, piKnightResult(body.task_id));

    const ended = await tim.task(id, 10);
    assert.deepEqual([ended.state, ended.attempt, ended.metadata.agent], ['completed', 1, 'galahad']);
    const [outcome] = await tim.inbox();
    assert.deepEqual([outcome.type, outcome.from, outcome.correlationId], ['task.result', 'galahad', id]);
    const { content, metadata } = outcome.payload.result;
    assert.equal(content, 'All quiet.');
    assert.deepEqual([metadata.cost, metadata.tokens.output, metadata.model], [0.12, 2000, 'large-model-1']);
    assert.equal(relay.metrics.getCount('ingress', 'dead_letters'), 0);
  });

  it('answers where the task says, over core NATS', async (t) => {
    const { site, tim, tasks } = await scene(t);
    const id = await tim.request({ payload: { params: { content: 'Brief me.' } } });
    const { body } = await nextOf(tasks);
    assert.equal(body.task, 'Brief me.');
    assert.equal(body.replySubject, `roundtable.results.security.${id}`);
    const result = { taskId: body.taskId, knight: 'galahad', success: true, output: 'Done.', durationMs: 1200 };
    site.client.publish(body.replySubject, JSON.stringify(result));
    assert.deepEqual((await tim.task(id, 10)).result, { content: 'Done.', metadata: { durationMs: 1200 } });
  });

  for (const [what, payload, result] of [
    ['a text', 'All quiet.', { content: 'All quiet.' }],
    ['an object', { findings: [] }, { findings: [] }],
    ['a payload of the document', { status: 'completed', result: 'All quiet.' }, { content: 'All quiet.' }],
  ] as const) {
    it(`ends a task by an envelope that has the id of the task, with ${what}`, async (t) => {
      const { site, tim, tasks } = await scene(t);
      const id = await tim.request();
      const { body } = await nextOf(tasks);
      const envelope = { id: body.id, fleetId: 'roundtable', type: 'task.result', from: 'galahad', to: 'tim' };
      const timestamp = '2026-02-23T18:00:45Z';
      await say(site, `roundtable.results.security.${body.id}`, { ...envelope, timestamp, payload });
      assert.deepEqual((await tim.task(id, 10)).result, result);
    });
  }

  it('fails a task, which comes again under another id, and fails for good the second time', async (t) => {
    const { site, tim, tasks } = await scene(t);
    const id = await tim.request();
    const ids: string[] = [];
    for (let attempt = 1; attempt <= 2; attempt++) {
      const { body } = await nextOf(tasks);
      ids.push(body.task_id);
      const failure = { success: false, result: undefined, error: 'The model gave no answer.', duration_ms: attempt };
      await say(site, `roundtable.results.security.${body.task_id}`, piKnightResult(body.task_id, failure));
    }
    assert.equal(new Set(ids).size, 2);
    const ended = await tim.task(id, 10);
    assert.deepEqual([ended.state, ended.error.code], ['failed', 'internal_error']);
    assert.equal(ended.error.message, 'The model gave no answer.');
  });

  it('lives by heartbeats that only say so', async (t) => {
    const { site } = await scene(t);
    const heartbeat = {
      agentId: 'galahad',
      fleetId: 'roundtable',
      timestamp: new Date().toISOString(),
      status: 'alive',
    };
    await say(site, 'roundtable.heartbeat.galahad', heartbeat);
    await eventually(async () => {
      const { health } = (await site.admin.call('GET', '/v1/agents/galahad')).body;
      assert.deepEqual([health.online, health.status], [true, 'alive']);
    });
  });

  it('does a task of 20 minutes once, though it claims nothing and says nothing', async (t) => {
    const clock = new TestClock();
    const { site, tim, tasks, relay } = await scene(t, { clock });
    const id = await tim.request();
    const { body } = await nextOf(tasks);
    for (let minute = 0; minute < 20; minute++) clock.advance(MINUTE_MS);
    // It was queued again meanwhile, and the relay has left it out.
    await eventually(() => assert.ok(relay.metrics.getCount('egress', 'skipped') >= 1));
    await say(site, `roundtable.results.security.${body.task_id}`, piKnightResult(body.task_id));
    const ended = await tim.task(id, 10);
    assert.deepEqual([ended.state, ended.attempt], ['completed', 1]);
    assert.equal(await countTasks(site), 1);
  });

  it('is written for as long as one agent of its domain has the profile', async (t) => {
    const { site, tim, tasks } = await scene(t);
    const register = (id: string, registration: object) =>
      site.admin.call('PUT', `/v1/agents/${id}`, { dialect: 'round-table', ...registration });
    const isForKnights = async () => {
      await tim.request();
      return (await nextOf(tasks)).body.task_id !== undefined;
    };
    await register('bors', { transport: 'nats', profile: 'knight', capabilities: ['security.briefing'] });
    await register('galahad', { ...KNIGHT, profile: undefined });
    assert.equal(await isForKnights(), true);
    await register('bors', { transport: 'nats', profile: 'knight', domains: ['intel'] });
    assert.equal(await isForKnights(), false);
    await register('galahad', KNIGHT);
    assert.equal(await isForKnights(), true);
    assert.equal((await site.admin.call('DELETE', '/v1/agents/galahad')).status, 204);
    assert.equal(await isForKnights(), false);
  });

  it('is not read in its own words where its registration does not say that it is one', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', {});
    await site.agent('galahad', { transport: 'nats', domains: ['security'] });
    const relay = await site.relay();
    const tasks = await consumerOf(site.client, 'ROUNDTABLE_TASKS', {
      durable_name: 'galahad-consumer',
      filter_subject: 'roundtable.tasks.security.>',
    });
    const id = await tim.request();
    assert.equal((await nextOf(tasks)).body.task_id, undefined);
    await say(site, `roundtable.results.security.${id}`, piKnightResult(id));
    await eventually(() => assert.equal(relay.metrics.getCount('ingress', 'dead_letters'), 1));
    assert.equal((await tim.task(id)).state, 'requested');
  });
});

describe('a task that a knight or an operator asks for', () => {
  const withRequester = defineConfig({
    ...SITE_CONFIG,
    dialects: { 'round-table': { nats: { default: { requester: 'operator' } } } },
  });

  it('names nobody, is done over HTTP, and is answered under its own id', async (t) => {
    const site = await relaySite(t, { config: withRequester });
    await site.agent('operator', { transport: 'nats', profile: 'knight' });
    const kay = await site.agent('kay', { domains: ['intel'] });
    await site.relay();
    const taskId = 'chain-daily-news.5f3a-1794872295';
    const asked = { taskId, chainName: 'daily', stepName: 'news', runId: '5f3a', task: 'What is new?' };
    await say(site, 'roundtable.tasks.intel.kay', asked);
    // An operator that begins anew says it again.
    await say(site, 'roundtable.tasks.intel.kay', asked);
    const [claimed, ...more] = await kay.claim({ wait: 10, max: 2 });
    assert.deepEqual(claimed.message.payload, { task: 'intel.kay', params: { content: 'What is new?' } });
    assert.equal(claimed.message.runId, '5f3a');
    assert.deepEqual(more, []);
    await kay.complete(claimed.message.id, { content: 'Nothing.' });
    const { task_id, success, output, result, ...rest } = await lastOn(site, `roundtable.results.${taskId}`);
    assert.deepEqual([rest.taskId, task_id, success, output, result], [taskId, taskId, true, 'Nothing.', 'Nothing.']);
    assert.deepEqual([rest.knight, rest.replySubject], ['kay', undefined]);
  });

  it('is answered where it says, also if it fails', async (t) => {
    const site = await relaySite(t);
    await site.agent('percival', { transport: 'nats', profile: 'knight' });
    const kay = await site.agent('kay', { domains: ['intel'] });
    await site.relay();
    const taskId = 'xknight-percival-intel-1794872295-17';
    const replyTo = `roundtable.results.${taskId}`;
    const metadata = { taskId, replyTo, from: 'Percival', type: 'cross-knight', timestamp: '2026-02-23T18:00:00Z' };
    await say(site, `roundtable.tasks.intel.${taskId}`, { task: 'What is new?', metadata });
    const [claimed] = await kay.claim({ wait: 10 });
    assert.equal(claimed.message.payload.task, 'intel.task');
    assert.equal(claimed.message.from, 'percival');
    await kay.fail(claimed.message.id, { error: 'invalid_params', message: 'New since when?' });
    const answer = await lastOn(site, replyTo);
    assert.deepEqual([answer.success, answer.output, answer.error], [false, 'New since when?', 'New since when?']);
  });

  it('is answered on its usual subject where it names one that is not for results', async (t) => {
    const site = await relaySite(t);
    await site.agent('percival', { transport: 'nats', profile: 'knight' });
    const kay = await site.agent('kay', { domains: ['intel'] });
    await site.relay();
    const asked = { task: 'What is new?', task_id: 'x-1', domain: 'intel', from: 'percival', replySubject: TASKS };
    await say(site, 'roundtable.tasks.intel.x-1', { ...asked, metadata: { timeout_ms: 90_000 } });
    const [claimed] = await kay.claim({ wait: 10 });
    assert.equal(claimed.message.ttl, 90);
    await kay.complete(claimed.message.id);
    assert.equal((await lastOn(site, 'roundtable.results.x-1')).success, true);
    assert.equal(await countTasks(site), 1);
  });
});
