import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { about, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

const result = (id: string) => about('task.result', 'galahad', id, { status: 'completed', result: { content: id } });

describe('a life in two calls', () => {
  it('answers a request that waits with its outcome, as soon as the agent has reported it with its next claim', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const request = taskRequest('tim');
    const answer = tim.call('POST', '/v1/messages?wait=20', request);
    assert.equal((await galahad.claim({ wait: 20 }))[0].message.id, request.id);
    const report = result(request.id);
    const next = await galahad.call('POST', '/v1/claims', { messages: [report] });
    assert.deepEqual(next.body, {
      results: [{ status: 202, body: { id: report.id, dialect: 'round-table', duplicate: false, taskId: request.id } }],
      tasks: [],
    });
    const { status, body } = await answer;
    assert.equal(status, 202);
    assert.equal(body.taskId, request.id);
    assert.deepEqual(body.outcome.payload, { status: 'completed', result: { content: request.id } });
  });

  it('gives the outcome again when the request is repeated', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const request = taskRequest('tim');
    await tim.send(request);
    await galahad.claim();
    await galahad.complete(request.id);
    const { status, body } = await tim.call('POST', '/v1/messages?wait=1', request);
    assert.deepEqual([status, body.duplicate, body.outcome.type], [200, true, 'task.result']);
  });

  it('answers without an outcome where none comes in time, and the task goes on', async (t) => {
    const { agent, clock } = await testParley(t);
    const tim = await agent('tim');
    const request = taskRequest('tim');
    let isAnswered = false;
    const answer = tim.call('POST', '/v1/messages?wait=5', request).finally(() => {
      isAnswered = true;
    });
    await eventually(() => {
      clock.advance(1000);
      assert.ok(isAnswered);
    });
    const { status, body } = await answer;
    assert.deepEqual([status, body.outcome], [202, undefined]);
    assert.equal((await tim.task(request.id)).status, 'pending');
  });

  it('claims although a report was refused, and says why it was', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    const stranger = '550e8400-e29b-41d4-a716-446655440000';
    const { body } = await galahad.call('POST', '/v1/claims', { messages: [result(stranger)] });
    assert.equal(body.results[0].body.code, 'task_not_found');
    assert.equal(body.tasks[0].message.id, id);
  });

  it('is only for a single message, and for so many reports as a batch may have', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const several = await tim.call('POST', '/v1/messages?wait=1', { messages: [taskRequest('tim')] });
    assert.deepEqual([several.status, several.body.code], [400, 'invalid_request']);
    const tooMany = await tim.call('POST', '/v1/claims', { messages: Array.from({ length: 26 }, () => ({})) });
    assert.deepEqual([tooMany.status, tooMany.body.code], [400, 'invalid_request']);
  });
});
