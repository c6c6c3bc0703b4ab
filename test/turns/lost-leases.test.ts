import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { taskRef } from '../../shared/model/task.ts';
import { onTaskTimer } from '../../shared/tasks/commands/task-timer.ts';
import { settled } from '../http/refusal.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { groundAgent, type Held, turnOf, Worker } from '../support/ground.ts';
import { tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const scene = async (parley: TestParley, more: object = {}) => {
  const requester = await parley.agent('requester', { dialect: 'task-format', capabilities: [] });
  const [worker, otherWorker] = await Promise.all(
    ['worker', 'other-worker'].map(
      async (id) => new Worker(await groundAgent(parley, id, { capabilities: ['parse_recipe'] })),
    ),
  );
  assert.ok(worker && otherWorker);
  const request = tfRequest({ type: 'parse_recipe', ...more });
  assert.equal((await requester.send(request)).status, 202);
  return { requester, worker, otherWorker, id: request.id };
};

/** As after an outage in which no lease could be renewed. */
const loseLease = async ({ parley: { deps } }: TestParley, id: string) => {
  const ref = taskRef('default', id);
  const written = await deps.records.update(ref, { set: { leaseUntil: deps.clock.now() - 1 } }, deps.newId());
  assert.equal(written.outcome, 'written');
  if (written.outcome === 'written') await onTaskTimer(deps, written.after);
};

const isStale = (worker: Worker, held: Held) =>
  eventually(async () => {
    const { body } = await worker.say(held, 'step', { step_id: 's', phase: 'p' });
    assert.equal(body.code, 'stale_turn');
  });

const statusOf = async (requester: TestAgent, id: string) => (await requester.task(id)).status;

describe('turn of a task', () => {
  it('completes a task whose time to live has passed while its turn reports steps', async (t) => {
    const parley = await testParley(t);
    const { requester, worker, id } = await scene(parley, { context: { parley: { ttlSeconds: 60 } } });
    const held = await worker.begin();
    for (let step = 0; step < 30; step++) {
      parley.clock.advance(150_000);
      await worker.ok(held, 'step', { step_id: `s${step}`, phase: 'p' });
      await eventually(async () => assert.equal(await statusOf(requester, id), 'in_progress'));
    }
    await worker.deliver(held, { cooked: true });
    await eventually(async () => assert.deepEqual((await requester.task(id)).result, { cooked: true }));
  });

  it('stops the turn of a task that failed because its lease expired', async (t) => {
    const parley = await testParley(t);
    const { requester, worker, id } = await scene(parley, { retryPolicy: { maxAttempts: 1 } });
    const held = await worker.begin();
    await loseLease(parley, id);
    assert.equal(await statusOf(requester, id), 'failed');
    await isStale(worker, held);
    assert.equal((await turnOf(parley.admin, held.agent_turn_id)).error_code, 'stopped');
  });

  it('stops the turn of a task that another agent claimed after the lease expired, without failing the task', async (t) => {
    const parley = await testParley(t);
    const { requester, worker, otherWorker, id } = await scene(parley);
    const held = await worker.begin();
    await loseLease(parley, id);
    const second = await eventually(() => otherWorker.begin());
    assert.notEqual(second.agent_turn_id, held.agent_turn_id);
    await isStale(worker, held);
    await eventually(async () => assert.equal((await turnOf(parley.admin, held.agent_turn_id)).status, 'canceled'));
    await otherWorker.deliver(second, { by: 'other-worker' });
    await eventually(async () => assert.deepEqual((await requester.task(id)).result, { by: 'other-worker' }));
  });

  it('completes but does not fail a requeued task by the turn that lost its lease', async (t) => {
    for (const [status, expected] of [
      ['success', 'completed'],
      ['failed', 'pending'],
    ] as const) {
      const parley = await testParley(t);
      const { requester, worker, id } = await scene(parley);
      const held = await worker.begin();
      await loseLease(parley, id);
      await worker.deliver(held, { by: 'worker' }, status);
      await eventually(async () => assert.ok((await turnOf(parley.admin, held.agent_turn_id)).ended_at));
      await settled(parley);
      assert.equal(await statusOf(requester, id), expected);
    }
  });
});
