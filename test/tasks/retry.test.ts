import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refusedWithoutTrace } from '../http/refusal.ts';
import { kitchen, taskFormat, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

describe('dead letter retry', () => {
  it('retries the named dead letters, or the newest, and returns a status for each', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook } = await kitchen(parley);
    const error = { code: 'INVALID_INPUT', message: 'burnt' };
    const tasks = [tfRequest(), tfRequest(), tfRequest()];
    for (const { id } of tasks) {
      await orchestrator.send(tasks.find((task) => task.id === id) ?? {});
      await cook.send({ id, status: 'failed', error });
      parley.clock.advance(10);
    }
    const [first, second, third] = tasks.map(({ id }) => id);
    const retry = async (body?: object) =>
      (await orchestrator.call('POST', '/v1/dead-letters/retry', body)).body.results;
    assert.deepEqual(
      (await retry({ ids: [second, 'nothing', second] })).map(({ id, status, code }: Record<string, unknown>) => [
        id,
        status,
        code,
      ]),
      [
        [second, 202, undefined],
        ['nothing', 404, 'task_not_found'],
      ],
    );
    assert.deepEqual(await retry({ max: 1 }), [{ id: third, status: 202 }]);
    assert.deepEqual(await retry(), [{ id: first, status: 202 }]);
    assert.deepEqual(await retry(), []);
    assert.equal((await cook.claim({ max: 10 })).length, 3);
  });
});

describe('task retry', () => {
  it('rejects a retry when no agent declares the capability any more or the named agent is removed', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook } = await kitchen(parley);
    const error = { code: 'INVALID_INPUT', message: 'burnt' };
    const failed = async (routing: object) => {
      const task = tfRequest({ routing });
      await orchestrator.send(task);
      await cook.claim();
      assert.equal((await cook.send({ id: task.id, status: 'failed', error })).status, 202);
      return () => orchestrator.call('POST', `/v1/tasks/${task.id}/retry`);
    };
    const [byCapability, byName] = [await failed({}), await failed({ target: 'cook' })];
    await parley.admin.call('PUT', '/v1/agents/cook', { ...taskFormat, capabilities: ['other'] });
    await refusedWithoutTrace(parley, 422, 'capability_not_found', byCapability);
    assert.equal((await byName()).status, 202);
    await parley.admin.call('PUT', '/v1/agents/cook', { ...taskFormat, capabilities: ['parse_recipe'] });
    assert.equal((await byCapability()).status, 202);
    const third = await failed({ target: 'cook' });
    await parley.admin.call('DELETE', '/v1/agents/cook');
    await refusedWithoutTrace(parley, 422, 'unknown_agent', third);
  });
});
