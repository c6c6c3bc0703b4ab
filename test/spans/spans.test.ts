import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import baseConfig from '../../parley.config.ts';
import type { Config } from '../../shared/config/config.ts';
import { settled } from '../http/refusal.ts';
import { a2aServer } from '../support/a2a-server.ts';
import { type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { callMessage, groundAgent, Worker } from '../support/ground.ts';
import { otlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts';
import { tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';
import { outboundConfig } from '../support/webhook-receiver.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const CALLER_SPAN = 'b7ad6b7169203331';
const traceparent = (flags = '01') => `00-${TRACE_ID}-${CALLER_SPAN}-${flags}`;

const scene = async (t: TestContext, tracing: Partial<Config['tracing']> = {}, more: Partial<Config> = {}) => {
  const receiver = await otlpReceiver(t);
  const config = { ...more, tracing: { ...baseConfig.tracing, endpoint: receiver.url, ...tracing } };
  const parley = await testParley(t, { config });
  return { receiver, parley, requester: await parley.agent('requester'), worker: await parley.agent('worker') };
};

const request = async (
  requester: TestAgent,
  overrides: Record<string, unknown> = {},
  flags?: string,
): Promise<string> => {
  const message = taskRequest(requester.id, overrides);
  const headers = { traceparent: traceparent(flags) };
  assert.equal((await requester.call('POST', '/v1/messages', message, headers)).status, 202);
  return message.id;
};

const named = (spans: ReceivedSpan[], name: string): ReceivedSpan => {
  const found = spans.find((span) => span.name === name);
  assert.ok(found, `no ${name} among ${spans.map((span) => span.name)}`);
  return found;
};

const durationMs = ({ startTimeUnixNano: start, endTimeUnixNano: end }: ReceivedSpan): number =>
  Number((BigInt(end) - BigInt(start)) / 1_000_000n);

const [CLIENT, PRODUCER, CONSUMER] = [3, 4, 5];
const ERROR = 2;

describe('Spans', () => {
  it('tell of every attempt of a task, below the span of its requester', async (t) => {
    const { receiver, parley, requester, worker } = await scene(t, { headers: { 'x-team': 'blue' } });
    const id = await request(requester);
    await settled(parley);
    parley.clock.advance(2000);
    await worker.claim();
    parley.clock.advance(300);
    await worker.fail(id, { error: 'rate_limited', message: 'later', retryAfterSeconds: 1 });
    await settled(parley);
    parley.clock.advance(1000);
    await eventually(async () => assert.equal((await worker.claim()).length, 1));
    parley.clock.advance(40);
    await worker.complete(id);
    await settled(parley);
    const spans = (await receiver.waitFor(7)).filter(({ attributes }) => attributes['messaging.message.id'] === id);
    const what = 'security.briefing';
    assert.deepEqual(spans.map(({ name, kind }) => [name, kind]).sort(), [
      [`process ${what}`, CONSUMER],
      [`process ${what}`, CONSUMER],
      [`receive ${what}`, CLIENT],
      [`receive ${what}`, CLIENT],
      [`send ${what}`, PRODUCER],
      [`settle ${what}`, CLIENT],
      [`settle ${what}`, CLIENT],
    ]);
    assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, 7);
    for (const { traceId } of spans) assert.equal(traceId, TRACE_ID);
    const send = named(spans, `send ${what}`);
    assert.equal(send.parentSpanId, CALLER_SPAN);
    const task = (await requester.task(id)) as { traceparent: string };
    assert.equal(task.traceparent.split('-')[2], send.spanId);
    const [first, second] = [1, 2].map((attempt) => {
      const own = spans.filter(({ attributes }) => attributes['parley.attempt'] === attempt);
      const [receive, process, settle] = ['receive', 'process', 'settle'].map((name) => named(own, `${name} ${what}`));
      assert.deepEqual([receive?.parentSpanId, process?.parentSpanId], [send.spanId, send.spanId]);
      assert.equal(settle?.parentSpanId, process?.spanId);
      assert.ok(receive && process && settle);
      return { receive, process, settle };
    });
    assert.ok(first && second);
    assert.deepEqual([durationMs(first.receive), durationMs(first.process)], [2000, 300]);
    assert.deepEqual([durationMs(second.receive), durationMs(second.process)], [0, 40]);
    assert.equal(first.process.status.code, ERROR);
    assert.equal(first.process.attributes['error.type'], 'rate_limited');
    assert.equal(second.process.status.code, undefined);
    assert.equal(first.settle.attributes['messaging.operation.name'], 'retrying');
    assert.equal(second.settle.attributes['messaging.operation.name'], 'completed');
    const { resource, attributes } = second.process;
    assert.deepEqual(resource, { 'service.name': 'parley' });
    assert.deepEqual(Object.fromEntries(Object.entries(attributes).filter(([key]) => !key.startsWith('parley.'))), {
      'messaging.system': 'parley',
      'messaging.operation.type': 'process',
      'messaging.operation.name': 'process',
      'messaging.destination.name': what,
      'messaging.message.id': id,
      'messaging.client.id': 'worker',
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.id': 'worker',
      'gen_ai.agent.name': 'worker',
    });
    for (const { path, headers } of receiver.calls)
      assert.deepEqual([path, headers['x-team'], headers['content-type']], ['/v1/traces', 'blue', 'application/json']);
  });

  it('of subtasks join up over agents of several dialects, and with an A2A server', async (t) => {
    const { receiver, parley, requester, worker } = await scene(t, {}, outboundConfig);
    const server = await a2aServer(t, ({ say }) => say('COMPLETED', 'Two a day.'));
    const registration = { dialect: 'a2a', transport: 'a2a', url: server.address };
    assert.equal((await parley.admin.call('PUT', '/v1/agents/remote', registration)).status, 201);
    const cook = await parley.agent('cook', { dialect: 'task-format', capabilities: [] });
    const first = await request(requester, { to: worker.id });
    await worker.claim();
    const subtask = taskRequest(worker.id, { to: cook.id, correlationId: first });
    assert.equal((await worker.send(subtask)).status, 202);
    const [held] = await cook.claim();
    const third = tfRequest({ context: { parentTaskId: held.message.id }, routing: { target: 'remote' } });
    assert.equal((await cook.send(third)).status, 202);
    await eventually(() => {
      parley.clock.advance(500);
      assert.ok(server.seen.some(({ method }) => method === 'SendMessage'));
    });
    const sends = await eventually(() => {
      const found = receiver.spans.filter(({ name }) => name.startsWith('send '));
      assert.equal(found.length, 3);
      return found;
    });
    const byId = (id: string) => {
      const found = sends.find(({ attributes }) => attributes['messaging.message.id'] === id);
      assert.ok(found);
      return found;
    };
    const chain = [first, held.message.id, third.id].map(byId);
    assert.deepEqual(
      chain.map(({ traceId, parentSpanId }) => [traceId, parentSpanId]),
      [CALLER_SPAN, chain[0]?.spanId, chain[1]?.spanId].map((parent) => [TRACE_ID, parent]),
    );
    const called = server.seen.find(({ method }) => method === 'SendMessage');
    assert.equal(called?.traceparent, `00-${TRACE_ID}-${chain[2]?.spanId}-01`);
  });

  it('are none for a trace that its requester does not sample', async (t) => {
    const { receiver, parley, requester } = await scene(t);
    const unsampled = await request(requester, {}, '00');
    const sampled = await request(requester);
    await settled(parley);
    await receiver.waitFor(1);
    const ids = new Set(receiver.spans.map(({ attributes }) => attributes['messaging.message.id']));
    assert.deepEqual([ids.has(unsampled), ids.has(sampled)], [false, true]);
  });

  it('are off without a collector, and nothing is stored for them', async (t) => {
    const { receiver, parley, requester } = await scene(t, { endpoint: undefined });
    const id = await request(requester);
    await settled(parley);
    assert.equal(parley.parley.deps.spans, undefined);
    const stored = await parley.parley.deps.records.get({ pk: `default#task#${id}`, sk: 'task' });
    assert.ok(stored && !('parentSpan' in stored && stored.parentSpan !== undefined));
    assert.deepEqual(receiver.calls, []);
  });

  it('of a turn tell who took it and how it ended', async (t) => {
    const { receiver, parley } = await scene(t);
    const [caller, other] = await Promise.all(['merlin', 'kay'].map((id) => groundAgent(parley, id)));
    assert.ok(caller && other);
    const message = callMessage(other.id);
    assert.equal((await caller.call('POST', '/v1/messages', message, { traceparent: traceparent() })).status, 202);
    await settled(parley);
    const worker = new Worker(other);
    parley.clock.advance(500);
    const held = await worker.begin();
    parley.clock.advance(250);
    await worker.deliver(held);
    await settled(parley);
    const spans = await receiver.waitFor(4);
    const [send, receive, process, settle] = ['send', 'receive', 'process', 'settle'].map((operation) =>
      named(spans, `${operation} kay`),
    );
    assert.ok(send && receive && process && settle);
    assert.deepEqual(
      [send, receive, process, settle].map(({ traceId, parentSpanId }) => [traceId, parentSpanId]),
      [CALLER_SPAN, send.spanId, send.spanId, process.spanId].map((parent) => [TRACE_ID, parent]),
    );
    assert.deepEqual([durationMs(receive), durationMs(process)], [500, 250]);
    assert.equal(process.attributes['gen_ai.agent.id'], 'kay');
    assert.equal(settle.attributes['messaging.operation.name'], 'success');
  });
});

describe('A collector that takes nothing', () => {
  for (const [what, fail] of [
    ['is down', { status: 503 }],
    ['hangs', { hangs: true }],
    ['refuses', { status: 400 }],
  ] as const) {
    it(`that ${what} delays and fails no work, and gets what came later`, async (t) => {
      const { receiver, parley, requester, worker } = await scene(t);
      Object.assign(receiver.answers, fail);
      const id = await request(requester);
      await eventually(() => assert.ok(receiver.calls.length > 0));
      await worker.claimed(id);
      await worker.complete(id);
      assert.equal((await requester.task(id)).state, 'completed');
      await eventually(() => assert.ok(parley.logged.includes('warn spans not exported')));
      // Not again and again.
      const { length } = receiver.calls;
      await request(requester);
      await settled(parley);
      assert.equal(receiver.calls.length, length);
      Object.assign(receiver.answers, { status: 200, hangs: false });
      parley.clock.advance(30_000);
      const later = await request(requester);
      const isThere = (wanted: string) =>
        receiver.spans.some(({ attributes }) => attributes['messaging.message.id'] === wanted);
      await eventually(() => assert.ok(isThere(later)));
      // What it refused will never be taken; the rest waited.
      const firstSend = receiver.spans.some(
        ({ name, attributes }) => name.startsWith('send') && attributes['messaging.message.id'] === id,
      );
      assert.equal(firstSend, what !== 'refuses');
    });
  }
});
