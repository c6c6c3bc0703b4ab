import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import config from '../../parley.config.ts';
import { agentOsMessage } from '../support/agent-os-agent.ts';
import { about, taskRequest } from '../support/api.ts';
import { mrMessage } from '../support/message-routing.ts';
import { tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const LATER = '2026-02-08T15:00:09Z';
const observability = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', baggage: { a: 1 } };
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

interface Message {
  [field: string]: unknown;
}

interface Repetition {
  dialect: string;
  what: string;
  first: Message;
  /** What a sender that repeats a message stamps anew. */
  stamps: object;
  other: object;
}

const REPETITIONS: Repetition[] = [
  {
    dialect: 'round-table',
    what: 'a request',
    first: taskRequest('sender', { to: 'reader' }),
    stamps: { timestamp: LATER, traceparent },
    other: { ttl: 7 },
  },
  {
    dialect: 'round-table',
    what: 'a broadcast',
    first: { ...about('broadcast.alert', 'sender', crypto.randomUUID(), { text: 'x' }) },
    stamps: { timestamp: LATER },
    other: { payload: {} },
  },
  ...['query', 'event', 'gap'].map((type) => ({
    dialect: 'agent-os',
    what: `a ${type}`,
    first: { ...agentOsMessage(type, 'sender', 'reader') },
    stamps: { timestamp: LATER, retryCount: 1, traceparent },
    other: { payload: { content: 'other' } },
  })),
  {
    dialect: 'task-format',
    what: 'a request',
    first: tfRequest({ routing: { target: 'reader' }, context: { timestamp: '2026-02-08T15:00:00Z', user: 'u' } }),
    stamps: { context: { timestamp: LATER, user: 'u' }, observability },
    other: { context: { timestamp: LATER, user: 'other' } },
  },
];

describe('A repeated message', () => {
  for (const { dialect, what, first, stamps, other } of REPETITIONS) {
    it(`of ${dialect}, ${what}, is a duplicate though its stamps are new, and reuses its id with other content`, async (t) => {
      const { agent } = await testParley(t);
      const sender = await agent('sender', { dialect, role: 'coordinator' });
      await agent('reader', { dialect });
      const send = async (message: object) => {
        const { status, body } = await sender.send(message);
        return [status, body.duplicate ?? body.code];
      };
      assert.deepEqual(await send(first), [202, false]);
      assert.deepEqual(await send({ ...first, ...stamps }), [200, true]);
      assert.deepEqual(await send({ ...first, ...stamps, ...other }), [409, 'id_reused']);
    });
  }

  it('of message-routing with another timestamp is another message', async (t) => {
    const { agent } = await testParley(t);
    const sender = await agent('sender', { dialect: 'message-routing' });
    await agent('reader', { dialect: 'message-routing' });
    const message = mrMessage('task-delegation', 'sender', 'reader');
    for (const [timestamp, status] of [
      [message.timestamp, 202],
      [message.timestamp, 200],
      [LATER, 202],
    ]) {
      assert.equal((await sender.send({ ...message, timestamp })).status, status);
    }
  });

  it('of task-format that reports with new times and a new span is a duplicate', async (t) => {
    const { agent } = await testParley(t);
    const requester = await agent('requester', { dialect: 'task-format' });
    const worker = await agent('worker', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    const request = tfRequest();
    await requester.send(request);
    await worker.claim();
    const result = (completedAt: string, more: object = {}) => ({
      id: request.id,
      status: 'completed',
      result: { n: 1 },
      metadata: { completedAt, duration_ms: Date.parse(completedAt) % 9999 },
      ...more,
    });
    assert.equal((await worker.send(result('2026-02-08T15:00:00Z'))).status, 202);
    const again = await worker.send(result(LATER, { observability }));
    assert.deepEqual([again.status, again.body.duplicate], [200, true]);
  });

  it('in a repeated batch may be stamped anew too', async (t) => {
    const { agent } = await testParley(t);
    const sender = await agent('sender');
    const request = taskRequest('sender');
    const post = (timestamp: string) =>
      sender.call('POST', '/v1/batches', { batchId: 'b', tasks: [{ ...request, timestamp }] });
    assert.equal((await post('2026-02-08T15:00:00Z')).status, 202);
    assert.equal((await post(LATER)).status, 200);
  });
});

describe('tasks.rememberMs', () => {
  const KEPT_MS = 600_000;
  const inTime = async (t: Parameters<typeof testParley>[0], rememberMs?: number) => {
    const parley = await testParley(t, {
      config: { tasks: { ...config.tasks, retentionMs: KEPT_MS, ...(rememberMs && { rememberMs }) } },
    });
    const requester = await parley.agent('requester');
    const worker = await parley.agent('worker');
    const request = taskRequest('requester');
    assert.equal((await requester.send(request)).status, 202);
    await worker.claim();
    assert.equal((await worker.complete(request.id)).status, 202);
    parley.clock.advance(KEPT_MS + 1);
    assert.equal((await requester.call('GET', `/v1/tasks/${request.id}`)).status, 404);
    return { ...parley, requester, worker, request };
  };

  it('unset forgets the id of a request with its task', async (t) => {
    const { requester, request } = await inTime(t);
    assert.equal((await requester.send(request)).status, 202);
  });

  it('keeps the id of a request beyond its task, and no longer', async (t) => {
    const { requester, worker, request, clock } = await inTime(t, 3 * KEPT_MS);
    const again = await requester.send({ ...request, timestamp: LATER });
    assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    assert.equal((await requester.send({ ...request, ttl: 7 })).body.code, 'id_reused');
    assert.deepEqual(await worker.claim(), []);
    clock.advance(2 * KEPT_MS);
    assert.equal((await requester.send(request)).status, 202);
    assert.equal((await worker.claim()).length, 1);
  });

  it('remembers no request that could not be stored', async (t) => {
    let isDown = false;
    const { agent } = await testParley(t, {
      config: { tasks: { ...config.tasks, rememberMs: 2 * config.tasks.retentionMs } },
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          transact: async (writes, token) => {
            if (isDown) throw new Error('the disk is gone');
            return ports.records.transact(writes, token);
          },
        },
      }),
    });
    const requester = await agent('requester');
    const request = taskRequest('requester');
    isDown = true;
    assert.equal((await requester.send(request)).status, 500);
    isDown = false;
    assert.equal((await requester.send(request)).status, 202);
    assert.equal((await requester.send(request)).status, 200);
  });
});
