import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { tfRequest } from '../support/task-format.ts';
import { deployment } from './deployment.ts';

const { agent } = await deployment();

const LARGE = 'The wall holds. '.repeat(1000);

const idsAt = async (reader: TestAgent, path: string): Promise<string[]> => {
  const { status, body } = await reader.call('GET', path);
  assert.equal(status, 200, JSON.stringify(body));
  return body.tasks.map(({ id }: { id: string }) => id);
};

describe('tasks', () => {
  it('are listed, newest first, and those that failed for good among the dead letters until they are run again', async () => {
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const ids = [await tim.request({ to: galahad.id }), await tim.request({ to: galahad.id })];
    await eventually(async () => assert.deepEqual(await idsAt(tim, '/v1/tasks'), ids.toReversed()), 30_000);
    const [{ message }] = await galahad.claim({ wait: 20 });
    const held = `/v1/tasks?agent=${galahad.id}&status=claimed`;
    await eventually(async () => assert.deepEqual(await idsAt(galahad, held), [message.id]), 30_000);
    const [failed = ''] = ids;
    assert.equal((await galahad.fail(failed, { error: 'skill_missing', message: 'never' })).status, 202);
    await eventually(async () => assert.deepEqual(await idsAt(tim, '/v1/dead-letters?limit=100'), [failed]), 30_000);
    assert.equal((await tim.call('POST', `/v1/tasks/${failed}/retry`)).status, 202);
    await eventually(async () => assert.deepEqual(await idsAt(tim, '/v1/dead-letters?limit=100'), []), 30_000);
  });

  it('may be large, be waited for in the call that asks for them, and be asked for twice', async () => {
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const request = taskRequest(tim.id, { to: galahad.id });
    const waiting = tim.call('POST', '/v1/messages?wait=20', request);
    assert.equal((await galahad.claim({ wait: 20 }))[0].message.id, request.id);
    assert.equal((await galahad.complete(request.id, { format: 'markdown', content: LARGE })).status, 202);
    assert.equal((await waiting).body.outcome.payload.result.content, LARGE);

    const orchestrator = await agent('orchestrator', { dialect: 'task-format' });
    const cook = await agent('cook', { dialect: 'task-format', domains: ['home'] });
    const task = tfRequest({ type: 'home.dinner', payload: { recipe: LARGE }, context: { priority: 'urgent' } });
    const pending = await orchestrator.call('POST', '/v1/tasks', task);
    assert.deepEqual([pending.status, pending.body.status], [202, 'pending']);
    assert.equal((await orchestrator.call('POST', '/v1/tasks', task)).body.id, task.id);
    assert.equal((await cook.send({ id: task.id, status: 'completed', result: 1 })).status, 202);
    assert.equal((await orchestrator.task(task.id, 20)).result, 1);
  });
});
