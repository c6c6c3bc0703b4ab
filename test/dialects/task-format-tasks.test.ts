import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace, settled } from '../http/refusal.ts';
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

  it('ends a task that its holder cancels, as its requester reads in the inbox and in the task', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const request = tfRequest();
    await orchestrator.send(request);
    await cook.send({ id: request.id, status: 'cancelled', metadata: { message: 'no stove' } });
    const [message] = await orchestrator.inbox(20);
    assert.equal(message.status, 'cancelled');
    assert.deepEqual([message.metadata.message, message.metadata.agent], ['no stove', 'cook']);
    const { status, state, cancelledBy, lastError } = await orchestrator.task(request.id);
    assert.deepEqual([status, state, cancelledBy], ['cancelled', 'cancelled', 'cook']);
    assert.deepEqual([lastError.code, lastError.message], ['CANCELLED', 'no stove']);
  });

  it('ends a task that its requester cancels with a message, and notifies the holder', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook } = await kitchen(parley);
    for (const isHeld of [false, true]) {
      const { id } = tfRequest();
      await orchestrator.send(tfRequest({ id }));
      if (isHeld) await cook.claim();
      const cancel = () => orchestrator.send({ id, status: 'cancelled' });
      assert.deepEqual([(await cancel()).status, (await cancel()).status], [202, 200]);
      assert.equal((await orchestrator.task(id)).status, 'cancelled');
      assertRefused(await cook.send({ id, status: 'completed' }), 409, 'cancelled');
      await settled(parley);
      const told = (await cook.inbox()).map((message) => [message.id, message.status]);
      assert.deepEqual(told, isHeld ? [[id, 'cancelled']] : []);
    }
    assert.deepEqual(await orchestrator.inbox(), []);
  });

  it('refuses to cancel for an agent that has no part in the task', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const stranger = await parley.agent('stranger', taskFormat);
    const { id } = tfRequest();
    await orchestrator.send(tfRequest({ id }));
    await refusedWithoutTrace(parley, 404, 'task_not_found', () => stranger.send({ id, status: 'cancelled' }));
  });

  it('shows a task as pending while its holder says that it has not begun', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const { id } = tfRequest();
    const status = async () => (await orchestrator.task(id)).status;
    await orchestrator.send(tfRequest({ id }));
    await cook.claim();
    assert.equal(await status(), 'in_progress');
    await cook.send({ id, status: 'pending', metadata: { message: 'in a minute' } });
    assert.equal(await status(), 'pending');
    assert.equal((await orchestrator.task(id)).claim.message, 'in a minute');
    await cook.send({ id, status: 'in_progress' });
    assert.equal(await status(), 'in_progress');
  });

  it('carries the fields that the format does not name, in both directions', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const request = tfRequest({ metadata: { team: 'sweets' }, extra: [1, { two: 2 }] });
    assert.equal((await orchestrator.send(request)).status, 202);
    const [{ message }] = await cook.claim();
    assert.deepEqual([message.metadata, message.extra], [request.metadata, request.extra]);
    await cook.send({ id: request.id, status: 'completed', result: {}, cost: { tokens: 7 }, seen: true });
    const [{ cost, seen }] = await orchestrator.inbox();
    assert.deepEqual([cost, seen], [{ tokens: 7 }, true]);
  });

  it('takes a task that is said to be pending for a request', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const request = tfRequest({ status: 'pending' });
    assert.equal((await orchestrator.send(request)).status, 202);
    const [{ message }] = await cook.claim();
    assert.deepEqual([message.id, message.status], [request.id, undefined]);
  });

  it('accepts an id of any printable characters', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    for (const id of ['ü-10666', '水 と 火', 'a.b#c?d%20&e', '𐍈'.repeat(128)]) {
      assert.equal((await orchestrator.send(tfRequest({ id }))).status, 202, id);
      assert.equal((await cook.claim())[0].message.id, id);
      assert.equal((await cook.send({ id, status: 'completed', result: { id } })).status, 202);
      assert.equal((await orchestrator.task(encodeURIComponent(id))).result.id, id);
      assert.equal((await orchestrator.inbox())[0].id, id);
      assert.equal((await orchestrator.call('POST', '/v1/inbox/ack', { ids: [id] })).body.acknowledged, 1);
    }
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
