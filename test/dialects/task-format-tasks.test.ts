import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refusedWithoutTrace } from '../http/refusal.ts';
import { kitchen, taskFormat, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

describe('Task Format task', () => {
  it('delivers every block of a request to its agent, and the result to the requester', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const request = tfRequest({
      context: {
        conversationId: 'conversation-1',
        user: 'user-7',
        timestamp: '2025-01-05T10:30:00Z',
        priority: 'urgent',
        locale: 'ar',
      },
      routing: { source: 'orchestrator', target: 'cook', delegationChain: ['planner', 'orchestrator'], hops: 2 },
      observability: { traceId: TRACE_ID, spanId: 'b7ad6b7169203331', baggage: { tenant: 'وصفة' } },
      retryPolicy: { maxAttempts: 2, backoffType: 'linear', initialDelay: 500 },
    });
    const sent = await orchestrator.send(request);
    assert.deepEqual(sent.body, { id: request.id, dialect: 'task-format', duplicate: false, taskId: request.id });
    const [{ message }] = await cook.claim();
    const { spanId, ...observability } = message.observability;
    assert.match(spanId, /^[0-9a-f]{16}$/);
    assert.notEqual(spanId, 'b7ad6b7169203331');
    assert.deepEqual(
      { ...message, observability },
      { ...request, observability: { traceId: TRACE_ID, baggage: { tenant: 'وصفة' } } },
    );
    const response = {
      id: request.id,
      status: 'completed',
      result: { title: 'Thai Basil Chicken', servings: 2 },
      artifacts: [{ name: 'draft.md', type: 'text/markdown', content: '# Draft', author: 'cook' }],
      metadata: {
        startedAt: '2025-01-05T10:30:00Z',
        completedAt: '2025-01-05T10:30:02Z',
        duration_ms: 2000,
        tokens: 3,
      },
    };
    assert.equal((await cook.send(response)).status, 202);
    const [{ metadata, observability: traced, ...outcome }] = await orchestrator.inbox(20);
    assert.deepEqual(traced, message.observability);
    assert.deepEqual(outcome, {
      id: response.id,
      status: 'completed',
      result: response.result,
      artifacts: response.artifacts,
    });
    const { parley, ...said } = metadata;
    assert.deepEqual(said, { ...response.metadata, agent: 'cook', retryCount: 0 });
    assert.equal((await orchestrator.call('POST', '/v1/inbox/ack', { ids: [parley.messageId] })).body.acknowledged, 1);
    assert.deepEqual(await orchestrator.inbox(), []);
  });

  it('acknowledges a result by the id of its task', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const request = tfRequest();
    await orchestrator.send(request);
    await cook.send({ id: request.id, status: 'completed', result: 'as text' });
    assert.equal((await orchestrator.inbox(20))[0].result, 'as text');
    const acknowledged = await orchestrator.call('POST', '/v1/inbox/ack', { ids: [request.id] });
    assert.equal(acknowledged.body.acknowledged, 1);
    assert.deepEqual(await orchestrator.inbox(), []);
  });

  it('keeps a trace that is not an OpenTelemetry trace', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const request = tfRequest({ observability: { traceId: 'my-trace', spanId: 'my-span' } });
    await orchestrator.send(request);
    const [{ message }] = await cook.claim();
    assert.deepEqual(message.observability, request.observability);
  });

  it('shows the statuses pending, in_progress and completed of a task', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const { id } = tfRequest();
    await orchestrator.send(tfRequest({ id }));
    const status = async () => (await orchestrator.task(id)).status;
    assert.equal(await status(), 'pending');
    assert.equal((await cook.send({ id, status: 'pending' })).status, 202);
    assert.equal((await orchestrator.task(id)).state, 'claimed');
    assert.equal(
      (await cook.send({ id, status: 'in_progress', metadata: { progress: 40, message: 'chopping' } })).status,
      202,
    );
    assert.equal(await status(), 'in_progress');
    const { body } = await orchestrator.call('GET', `/v1/tasks/${id}?dialect=task-format`);
    assert.equal(body.status, 'in_progress');
    assert.equal(body.metadata.progress, 40);
    assert.equal(body.metadata.message, 'chopping');
    assert.equal(body.metadata.agent, 'cook');
    await cook.send({ id, status: 'completed' });
    assert.equal(await status(), 'completed');
    assert.equal((await orchestrator.task(id)).metadata.agent, 'cook');
  });

  it('accepts a repeated message once, and rejects another message under its id', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook } = await kitchen(parley);
    const request = tfRequest();
    const done = { id: request.id, status: 'completed', result: { a: 1, b: 2 } };
    const replies = [
      await orchestrator.send(request),
      await orchestrator.send({ ...request }),
      await cook.send(done),
      await cook.send({ ...done, result: { b: 2, a: 1 } }),
    ];
    assert.deepEqual(
      replies.map(({ status, body }) => [status, body.duplicate]),
      [
        [202, false],
        [200, true],
        [202, false],
        [200, true],
      ],
    );
    await refusedWithoutTrace(parley, 409, 'task_ended', () => cook.send({ ...done, result: {} }));
    await refusedWithoutTrace(parley, 409, 'id_reused', () => orchestrator.send({ ...request, payload: {} }));
    const other = await parley.agent('other', taskFormat);
    await refusedWithoutTrace(parley, 409, 'id_reused', () => other.send(request));
  });

  it('fails a task that its holder cancels, and sends its requester the status cancelled', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const request = tfRequest();
    await orchestrator.send(request);
    await cook.send({ id: request.id, status: 'cancelled', metadata: { message: 'no stove' } });
    const [message] = await orchestrator.inbox(20);
    assert.equal(message.status, 'cancelled');
    assert.equal(message.metadata.message, 'no stove');
    assert.equal((await orchestrator.task(request.id)).state, 'failed');
  });

  it('expires an unclaimed task after an hour', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const request = tfRequest();
    await orchestrator.send(request);
    parley.clock.advance(3_599_000);
    assert.equal((await orchestrator.task(request.id)).status, 'pending');
    parley.clock.advance(1000);
    const [message] = await orchestrator.inbox(20);
    assert.deepEqual([message.status, message.error.code, message.error.recoverable], ['failed', 'TIMEOUT', true]);
  });

  it('accepts a request with the admin key only if it names its source', async (t) => {
    const parley = await testParley(t);
    await kitchen(parley);
    const send = (message: object) => parley.admin.call('POST', '/v1/messages', message);
    assert.equal((await send(tfRequest({ routing: { source: 'orchestrator' } }))).status, 202);
    const reply = await refusedWithoutTrace(parley, 400, 'invalid_message', () => send(tfRequest()));
    assert.deepEqual(reply.body.issues[0].path, 'routing.source');
  });
});
