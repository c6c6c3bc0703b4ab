import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { taskRef } from '../../shared/model/task.ts';
import { onTaskTimer } from '../../shared/tasks/commands/update-task.ts';
import { settled } from '../http/refusal.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { groundAgent, type Held, turnOf, Worker } from '../support/ground.ts';
import { tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const scene = async (parley: TestParley, more: object = {}) => {
  const tim = await parley.agent('tim', { dialect: 'task-format', capabilities: [] });
  const [merlin, kay] = await Promise.all(
    ['merlin', 'kay'].map(async (id) => new Worker(await groundAgent(parley, id, { capabilities: ['parse_recipe'] }))),
  );
  assert.ok(merlin && kay);
  const request = tfRequest({ type: 'parse_recipe', ...more });
  assert.equal((await tim.send(request)).status, 202);
  return { tim, merlin, kay, id: request.id };
};

/** As after an outage: nobody could renew the lease in time. */
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

const statusOf = async (tim: TestAgent, id: string) => (await tim.task(id)).status;

describe('a turn whose task', () => {
  it('is past its time to live goes on while it gives signs of life, and completes it', async (t) => {
    const parley = await testParley(t);
    const { tim, merlin, id } = await scene(parley, { context: { parley: { ttlSeconds: 60 } } });
    const held = await merlin.begin();
    for (let step = 0; step < 30; step++) {
      parley.clock.advance(150_000);
      await merlin.ok(held, 'step', { step_id: `s${step}`, phase: 'p' });
      await eventually(async () => assert.equal(await statusOf(tim, id), 'in_progress'));
    }
    await merlin.deliver(held, { cooked: true });
    await eventually(async () => assert.deepEqual((await tim.task(id)).result, { cooked: true }));
  });

  it('failed for good, because its lease ran out, is stopped', async (t) => {
    const parley = await testParley(t);
    const { tim, merlin, id } = await scene(parley, { retryPolicy: { maxAttempts: 1 } });
    const held = await merlin.begin();
    await loseLease(parley, id);
    assert.equal(await statusOf(tim, id), 'failed');
    await isStale(merlin, held);
    assert.equal((await turnOf(parley.admin, held.agent_turn_id)).error_code, 'stopped');
  });

  it('was lost and is given to another is stopped, and does not fail it for that one', async (t) => {
    const parley = await testParley(t);
    const { tim, merlin, kay, id } = await scene(parley);
    const held = await merlin.begin();
    await loseLease(parley, id);
    const second = await eventually(() => kay.begin());
    assert.notEqual(second.agent_turn_id, held.agent_turn_id);
    await isStale(merlin, held);
    await eventually(async () => assert.equal((await turnOf(parley.admin, held.agent_turn_id)).status, 'canceled'));
    await kay.deliver(second, { by: 'kay' });
    await eventually(async () => assert.deepEqual((await tim.task(id)).result, { by: 'kay' }));
  });

  it('was lost and waits for the next is not failed by it, but completed', async (t) => {
    for (const [status, expected] of [
      ['success', 'completed'],
      ['failed', 'pending'],
    ] as const) {
      const parley = await testParley(t);
      const { tim, merlin, id } = await scene(parley);
      const held = await merlin.begin();
      await loseLease(parley, id);
      await merlin.deliver(held, { by: 'merlin' }, status);
      await eventually(async () => assert.ok((await turnOf(parley.admin, held.agent_turn_id)).ended_at));
      await settled(parley);
      assert.equal(await statusOf(tim, id), expected);
    }
  });
});
