import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kitchen, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';
import { assertRefused, refusedWithoutTrace } from './refusal.ts';

describe('POST /v1/tasks', () => {
  it('answers that the task is pending', async (t) => {
    const { orchestrator } = await kitchen(await testParley(t));
    const request = tfRequest();
    const first = await orchestrator.call('POST', '/v1/tasks', request);
    assert.deepEqual([first.status, first.body.id, first.body.status], [202, request.id, 'pending']);
    const again = await orchestrator.call('POST', '/v1/tasks', request);
    assert.deepEqual([again.status, again.body.createdAt], [202, first.body.createdAt]);
  });

  it('answers with the result of a task that ends in time', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const request = tfRequest();
    const waiting = orchestrator.call('POST', '/v1/tasks?wait=20', request);
    await cook.claim({ wait: 20 });
    const artifacts = [{ name: 'a.txt', type: 'text/plain', content: 'a' }];
    await cook.send({ id: request.id, status: 'completed', result: { title: 'Soup' }, artifacts });
    const { status, body } = await waiting;
    assert.equal(status, 200);
    assert.deepEqual([body.status, body.result, body.artifacts], ['completed', { title: 'Soup' }, artifacts]);
    assert.equal(body.metadata.agent, 'cook');
    const again = await orchestrator.call('POST', '/v1/tasks', request);
    assert.deepEqual([again.status, again.body.status], [200, 'completed']);
  });

  it('answers with the error of one that fails', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const request = tfRequest();
    const waiting = orchestrator.call('POST', '/v1/tasks?wait=20', request);
    await cook.claim({ wait: 20 });
    const error = { code: 'INVALID_INPUT', message: 'no recipe', recoverable: false };
    await cook.send({ id: request.id, status: 'failed', error });
    const { status, body } = await waiting;
    assert.deepEqual([status, body.status, body.error], [200, 'failed', error]);
  });

  it('takes requests only, and says all that is wrong with one', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const post = (message: unknown) => () => orchestrator.call('POST', '/v1/tasks', message);
    await refusedWithoutTrace(parley, 400, 'invalid_message', post({ id: 'x', status: 'pending' }));
    await refusedWithoutTrace(parley, 400, 'invalid_message', post({ id: 'x', input: 1 }));
    const reply = await refusedWithoutTrace(parley, 400, 'invalid_message', post({ colour: 'red' }));
    assert.deepEqual(reply.body.issues.map(({ path }: { path: string }) => path).sort(), [
      'colour',
      'id',
      'payload',
      'type',
    ]);
    assertRefused(await post(undefined)(), 400, 'invalid_request');
    await refusedWithoutTrace(parley, 422, 'capability_not_found', post(tfRequest({ type: 'fly' })));
  });
});
