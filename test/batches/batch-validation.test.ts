import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace } from '../http/refusal.ts';
import { kitchen, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

describe('batch validation', () => {
  it('rejects a batch with the issues of all its tasks and without a trace', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const there = tfRequest();
    await orchestrator.send(there);
    const tasks = [
      tfRequest({ type: 'unheard_of' }),
      tfRequest(),
      tfRequest({ routing: { target: 'nobody' } }),
      { id: 'x', status: 'completed' },
      tfRequest({ routing: { source: 'cook' } }),
      tfRequest({ payload: 3 }),
      there,
    ];
    const reply = await refusedWithoutTrace(parley, 422, 'capability_not_found', () =>
      orchestrator.call('POST', '/v1/batches', { tasks }),
    );
    const paths = (issues: { path: string }[]) => issues.map(({ path }) => path);
    assert.deepEqual(paths(reply.body.issues), [
      'tasks[0]',
      'tasks[2]',
      'tasks[3]',
      'tasks[4]',
      'tasks[5].payload',
      'tasks[6]',
    ]);
    const shapeless = await orchestrator.call('POST', '/v1/batches', { tasks: [...tasks, { what: 'is this' }] });
    assertRefused(shapeless, 400, 'unknown_dialect');
    assert.ok(paths(shapeless.body.issues).includes('tasks[6]'));
  });

  it('rejects a malformed batch without a trace', async (t) => {
    const parley = await testParley(t);
    const { orchestrator } = await kitchen(parley);
    const task = tfRequest();
    for (const body of [
      {},
      { tasks: [] },
      { tasks: Array.from({ length: 101 }, () => tfRequest()) },
      { tasks: ['x'] },
      { tasks: [task], deadlineSeconds: 0 },
      { tasks: [task], deadlineSeconds: 604_801 },
      { tasks: [task], failFast: 'yes' },
      { tasks: [task], batchId: '' },
      { tasks: [task], more: 1 },
    ]) {
      await refusedWithoutTrace(parley, 400, 'invalid_request', () => orchestrator.call('POST', '/v1/batches', body));
    }
    await refusedWithoutTrace(parley, 409, 'id_reused', () =>
      orchestrator.call('POST', '/v1/batches', { tasks: [task, task] }),
    );
  });
});
