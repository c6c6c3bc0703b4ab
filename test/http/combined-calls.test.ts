import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { about, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

const result = (id: string) => about('task.result', 'worker', id, { status: 'completed', result: { content: id } });

describe('task cycle in two calls', () => {
  it('returns the outcome to a waiting request when the agent reports it with its next claim', async (t) => {
    const { agent } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const request = taskRequest('requester');
    const answer = requester.call('POST', '/v1/messages?wait=20', request);
    assert.equal((await worker.claim({ wait: 20 }))[0].message.id, request.id);
    const report = result(request.id);
    const next = await worker.call('POST', '/v1/claims', { messages: [report] });
    assert.deepEqual(next.body, {
      results: [{ status: 202, body: { id: report.id, dialect: 'round-table', duplicate: false, taskId: request.id } }],
      tasks: [],
    });
    const { status, body } = await answer;
    assert.equal(status, 202);
    assert.equal(body.taskId, request.id);
    assert.deepEqual(body.outcome.payload, { status: 'completed', result: { content: request.id } });
  });

  it('returns the outcome again when the request is repeated', async (t) => {
    const { agent } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const request = taskRequest('requester');
    await requester.send(request);
    await worker.claim();
    await worker.complete(request.id);
    const { status, body } = await requester.call('POST', '/v1/messages?wait=1', request);
    assert.deepEqual([status, body.duplicate, body.outcome.type], [200, true, 'task.result']);
  });

  it('returns no outcome when the task does not end within the wait', async (t) => {
    const { agent, clock } = await testParley(t);
    const requester = await agent('requester');
    const request = taskRequest('requester');
    let isAnswered = false;
    const answer = requester.call('POST', '/v1/messages?wait=5', request).finally(() => {
      isAnswered = true;
    });
    await eventually(() => {
      clock.advance(1000);
      assert.ok(isAnswered);
    });
    const { status, body } = await answer;
    assert.deepEqual([status, body.outcome], [202, undefined]);
    assert.equal((await requester.task(request.id)).status, 'pending');
  });

  it('claims tasks although a report in the same call is rejected', async (t) => {
    const { agent } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const id = await requester.request();
    const stranger = '550e8400-e29b-41d4-a716-446655440000';
    const { body } = await worker.call('POST', '/v1/claims', { messages: [result(stranger)] });
    assert.equal(body.results[0].body.code, 'task_not_found');
    assert.equal(body.tasks[0].message.id, id);
  });

  it('rejects wait with several messages, and more reports in a claim than the limit', async (t) => {
    const { agent } = await testParley(t);
    const requester = await agent('requester');
    const several = await requester.call('POST', '/v1/messages?wait=1', { messages: [taskRequest('requester')] });
    assert.deepEqual([several.status, several.body.code], [400, 'invalid_request']);
    const tooMany = await requester.call('POST', '/v1/claims', { messages: Array.from({ length: 26 }, () => ({})) });
    assert.deepEqual([tooMany.status, tooMany.body.code], [400, 'invalid_request']);
  });
});
