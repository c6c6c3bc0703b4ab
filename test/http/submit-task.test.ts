import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kitchen, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';
import { assertRefused, refusedWithoutTrace, settled } from './refusal.ts';

describe('POST /v1/tasks', () => {
  it('returns 202 and pending for a new task and for its repetition', async (t) => {
    const { orchestrator } = await kitchen(await testParley(t));
    const request = tfRequest();
    const first = await orchestrator.call('POST', '/v1/tasks', request);
    assert.deepEqual([first.status, first.body.id, first.body.status], [202, request.id, 'pending']);
    const again = await orchestrator.call('POST', '/v1/tasks', request);
    assert.deepEqual([again.status, again.body.createdAt], [202, first.body.createdAt]);
  });

  it('returns the result of a task that ends within the wait', async (t) => {
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

  it('returns the error of a task that fails within the wait', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const request = tfRequest();
    const waiting = orchestrator.call('POST', '/v1/tasks?wait=20', request);
    await cook.claim({ wait: 20 });
    const error = { code: 'INVALID_INPUT', message: 'no recipe', recoverable: false };
    await cook.send({ id: request.id, status: 'failed', error });
    const { status, body } = await waiting;
    assert.deepEqual([status, body.status, body.error], [200, 'failed', error]);
  });

  it('returns all response metadata and protocol error codes to a waiting call and to a later read', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook } = await kitchen(parley);
    const request = tfRequest();
    const waiting = orchestrator.call('POST', '/v1/tasks?wait=20', request);
    await cook.claim({ wait: 20 });
    const started = '2026-02-08T15:00:00.000Z';
    await cook.send({ id: request.id, status: 'in_progress', metadata: { progress: 40, tokens: 3 } });
    const under = (await orchestrator.task(request.id)).metadata;
    assert.deepEqual([under.progress, under.tokens, under.agent, under.retryCount], [40, 3, 'cook', 0]);
    const said = { startedAt: started, duration_ms: 1200, tokens: 5, model: { name: 'small' } };
    await cook.send({ id: request.id, status: 'completed', result: 1, metadata: said });
    for (const body of [(await waiting).body, await orchestrator.task(request.id)]) {
      const { startedAt, duration_ms, tokens, model, agent, retryCount } = body.metadata;
      assert.deepEqual({ startedAt, duration_ms, tokens, model }, said);
      assert.deepEqual([agent, retryCount, body.result, body.state], ['cook', 0, 1, 'completed']);
    }
    const failing = tfRequest();
    await orchestrator.send(failing);
    const details = { field: 'url' };
    const error = { code: 'INVALID_INPUT', message: 'no url', recoverable: false, details, hint: 'give one' };
    await cook.send({ id: failing.id, status: 'failed', error });
    assert.deepEqual((await orchestrator.task(failing.id)).error, error);
    const late = tfRequest();
    await orchestrator.send(late);
    parley.clock.advance(3_600_000);
    await settled(parley);
    const expired = await orchestrator.task(late.id);
    assert.deepEqual([expired.status, expired.error.code, expired.error.recoverable], ['failed', 'TIMEOUT', true]);
  });

  it('rejects messages that are not requests and lists every issue', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const post = (message: unknown) => () => orchestrator.call('POST', '/v1/tasks', message);
    await refusedWithoutTrace(parley, 400, 'invalid_message', post({ id: 'x', status: 'pending' }));
    await refusedWithoutTrace(parley, 400, 'invalid_message', post({ id: 'x', input: 1 }));
    const signal = { signalId: 's', to: 'cook', type: 'blocked', payload: {} };
    await refusedWithoutTrace(parley, 400, 'invalid_message', post(signal));
    await refusedWithoutTrace(parley, 400, 'invalid_message', post({ ...tfRequest(), signalId: 's', to: 'cook' }));
    const reply = await refusedWithoutTrace(parley, 400, 'invalid_message', post({ colour: 'red' }));
    assert.deepEqual(reply.body.issues.map(({ path }: { path: string }) => path).sort(), ['id', 'payload', 'type']);
    assertRefused(await post(undefined)(), 400, 'invalid_request');
    await refusedWithoutTrace(parley, 422, 'capability_not_found', post(tfRequest({ type: 'fly' })));
  });
});
