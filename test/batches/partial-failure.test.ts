import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settled } from '../http/refusal.ts';
import { eventually } from '../support/eventually.ts';
import { kitchen, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';
import { complete, view } from './batch-of-cook.ts';

describe('batch creation after a partial failure', () => {
  const dying = (death: number): Parameters<typeof testParley>[1] => {
    let left = death;
    return {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          transact: (writes, token) =>
            writes.some((write) => write.kind === 'create' && write.item.sk === 'task') && --left === 0
              ? Promise.reject(new Error('killed'))
              : ports.records.transact(writes, token),
        },
      }),
    };
  };

  it('creates the missing tasks of an interrupted batch later, and ends the batch', async (t) => {
    for (const death of [1, 2, 3]) {
      const parley = await testParley(t, dying(death));
      const { orchestrator, cook } = await kitchen(parley);
      const batch = { batchId: 'half', tasks: [tfRequest(), tfRequest(), tfRequest()] };
      assert.equal((await orchestrator.call('POST', '/v1/batches', batch)).status, 500);
      await parley.restart();
      parley.clock.advance(30_000);
      let done = 0;
      await eventually(async () => {
        for (const { message } of await cook.claim({ max: 3 })) {
          await complete(cook, message.id);
          done += 1;
        }
        assert.equal(done, 3);
      });
      assert.equal((await view(orchestrator, 'half', 20)).status, 'success');
    }
  });

  it('creates no task of a batch that ends while its tasks are created', async (t) => {
    let isFirst = true;
    const ending = { fail: async () => {} };
    const parley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          transact: async (writes, token) => {
            const isTask = writes.some((write) => write.kind === 'create' && write.item.sk === 'task');
            if (isTask && !isFirst) await ending.fail();
            if (isTask) isFirst = false;
            return ports.records.transact(writes, token);
          },
        },
      }),
    });
    const { orchestrator, cook } = await kitchen(parley);
    const tasks = [tfRequest(), tfRequest(), tfRequest()];
    ending.fail = async () => {
      await eventually(async () => {
        await cook.send({ id: tasks[0]?.id, status: 'failed', error: { code: 'INVALID_INPUT', message: 'no' } });
        assert.equal((await view(orchestrator, 'fast')).status, 'failed');
      });
    };
    await orchestrator.call('POST', '/v1/batches', { batchId: 'fast', failFast: true, tasks });
    await settled(parley);
    assert.deepEqual(await cook.claim({ max: 10 }), []);
    assert.equal((await orchestrator.call('GET', `/v1/tasks/${tasks[1]?.id}`)).status, 404);
  });

  it('creates no task of an interrupted batch after its end', async (t) => {
    const parley = await testParley(t, dying(2));
    const { orchestrator, cook } = await kitchen(parley);
    const batch = { batchId: 'half', deadlineSeconds: 10, tasks: [tfRequest(), tfRequest(), tfRequest()] };
    assert.equal((await orchestrator.call('POST', '/v1/batches', batch)).status, 500);
    parley.clock.advance(10_000);
    assert.equal((await view(orchestrator, 'half', 20)).status, 'timeout');
    assert.equal((await orchestrator.call('POST', '/v1/batches', batch)).status, 200);
    parley.clock.advance(60_000);
    await settled(parley);
    assert.deepEqual(await cook.claim({ max: 10 }), []);
  });
});
