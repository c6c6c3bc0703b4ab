import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settled } from '../http/refusal.ts';
import { taskRequest } from '../support/api.ts';
import { kitchen, tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const mixed = async (parley: TestParley) => ({
  ...(await kitchen(parley)),
  requester: await parley.agent('requester', { dialect: 'round-table' }),
  worker: await parley.agent('worker', { capabilities: ['parse_recipe', 'security.briefing'] }),
});

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const observability = { traceId: TRACEPARENT.slice(3, 35), spanId: TRACEPARENT.slice(36, 52) };

describe('Task Format task for a Round Table agent', () => {
  it('translates the claim, progress and result of a Round Table agent into Task Format', async (t) => {
    const { orchestrator, worker } = await mixed(await testParley(t));
    const request = tfRequest({
      context: { priority: 'urgent', user: 'user-7' },
      routing: { target: 'worker' },
      observability,
    });
    await orchestrator.send(request);
    const [{ message }] = await worker.claim();
    assert.deepEqual(
      [message.type, message.id, message.from, message.to, message.priority, message.ttl],
      ['task.request', request.id, 'orchestrator', 'worker', 'critical', 3600],
    );
    const { task, params } = message.payload;
    assert.deepEqual([task, params], [`task-format.${request.type}`, request.payload]);
    assert.equal(message.parley.capability, request.type);
    assert.equal(message.parley['task-format'].context.user, 'user-7');
    await worker.progress(request.id, { percent: 50, message: 'half', subTasks: [{ id: 'a', status: 'done' }] });
    const { body } = await orchestrator.call('GET', `/v1/tasks/${request.id}?dialect=task-format`);
    assert.deepEqual([body.status, body.metadata.progress, body.metadata.message], ['in_progress', 50, 'half']);
    assert.deepEqual(body.metadata.parley.subTasks, [{ id: 'a', status: 'done' }]);
    assert.match((await orchestrator.task(request.id)).traceparent, new RegExp(`^00-${observability.traceId}-`));
    await worker.send({
      ...taskRequest('worker'),
      type: 'task.result',
      correlationId: request.id,
      payload: { status: 'completed', result: { content: 'Soup' }, model: 'm-1' },
    });
    const [outcome] = await orchestrator.inbox(20);
    assert.deepEqual([outcome.id, outcome.status, outcome.result], [request.id, 'completed', { content: 'Soup' }]);
    assert.equal(outcome.metadata.agent, 'worker');
    assert.equal(outcome.metadata.parley.carried.payload.model, 'm-1');
  });

  const codes: [said: string, read: string, recoverable: boolean][] = [
    ['rate_limited', 'RATE_LIMITED', true],
    ['timeout', 'TIMEOUT', true],
    ['model_error', 'INTERNAL_ERROR', true],
    ['internal_error', 'INTERNAL_ERROR', true],
    ['skill_missing', 'CAPABILITY_NOT_FOUND', false],
    ['invalid_params', 'INVALID_INPUT', false],
  ];
  for (const [said, read, recoverable] of codes) {
    it(`translates the Round Table failure ${said} into the Task Format code ${read}`, async (t) => {
      const parley = await testParley(t);
      const { orchestrator, worker } = await mixed(parley);
      const request = tfRequest({ routing: { target: 'worker' }, retryPolicy: { maxAttempts: 1 } });
      await orchestrator.send(request);
      await worker.fail(request.id, { error: said, message: 'it broke' });
      const [{ error, metadata }] = await orchestrator.inbox(20);
      assert.deepEqual(error, { code: read, message: 'it broke', recoverable });
      assert.equal(metadata.parley.errorCode, said);
    });
  }
});

describe('Round Table task for a Task Format agent', () => {
  it('translates the claim, progress and result of a Task Format agent into Round Table', async (t) => {
    const { requester, cook } = await mixed(await testParley(t));
    const request = taskRequest('requester', {
      to: 'cook',
      priority: 'critical',
      ttl: 60,
      payload: { task: 'home.dinner', params: { guests: 2 }, maxTokens: 5 },
    });
    await requester.call('POST', '/v1/messages', request, { traceparent: TRACEPARENT });
    const [{ message }] = await cook.claim();
    assert.deepEqual([message.id, message.type, message.payload], [request.id, 'home.dinner', { guests: 2 }]);
    assert.deepEqual(message.routing, { source: 'requester', target: 'cook', delegationChain: ['requester'] });
    assert.equal(message.observability.traceId, observability.traceId);
    assert.equal(message.context.priority, 'urgent');
    assert.deepEqual(message.context.parley.carried.payload, { maxTokens: 5 });
    await cook.send({ id: request.id, status: 'in_progress', metadata: { progress: 20, oven: 'on' } });
    const { body } = await requester.call('GET', `/v1/tasks/${request.id}?dialect=round-table`);
    assert.deepEqual([body.type, body.payload.percent], ['task.progress', 20]);
    assert.equal(body.parley['task-format'].metadata.oven, 'on');
    const artifacts = [{ name: 'menu.md', type: 'text/markdown', content: '# Menu' }];
    await cook.send({ id: request.id, status: 'completed', result: 'eat', artifacts, metadata: { oven: 'off' } });
    const [outcome] = await requester.inbox(20);
    assert.deepEqual([outcome.type, outcome.correlationId, outcome.from], ['task.result', request.id, 'cook']);
    assert.deepEqual([outcome.payload.status, outcome.payload.result], ['completed', { content: 'eat' }]);
    assert.deepEqual(outcome.payload.parley.artifacts, artifacts);
    assert.equal(outcome.parley['task-format'].metadata.oven, 'off');
  });

  const codes: [said: string, read: string][] = [
    ['INVALID_INPUT', 'invalid_params'],
    ['CAPABILITY_NOT_FOUND', 'skill_missing'],
    ['KNOWLEDGE_NOT_FOUND', 'invalid_params'],
  ];
  for (const [said, read] of codes) {
    it(`translates the Task Format failure ${said} into the Round Table code ${read}`, async (t) => {
      const { requester, cook } = await mixed(await testParley(t));
      const id = await requester.request({ to: 'cook' });
      await cook.send({ id, status: 'failed', error: { code: said, message: 'no', details: { a: 1 } } });
      const [{ payload }] = await requester.inbox(20);
      assert.deepEqual([payload.error, payload.message, payload.retryable], [read, 'no', false]);
      assert.deepEqual([payload.parley.code, payload.parley.details], [said, { a: 1 }]);
    });
  }

  it('retries a Round Table task by its own rules after a recoverable Task Format error', async (t) => {
    const parley = await testParley(t);
    const { requester, cook } = await mixed(parley);
    const id = await requester.request({ to: 'cook' });
    for (let attempt = 1; attempt <= 3; attempt++) {
      await cook.claim();
      const error = { code: 'MCP_RATE_LIMITED', message: 'slow down' };
      await cook.send({ id, status: 'failed', error, metadata: { retryCount: attempt } });
      parley.clock.advance(10_000);
      await settled(parley);
    }
    const [{ payload }] = await requester.inbox(20);
    assert.deepEqual(
      [payload.error, payload.retryable, payload.parley.code],
      ['rate_limited', true, 'MCP_RATE_LIMITED'],
    );
  });
});
