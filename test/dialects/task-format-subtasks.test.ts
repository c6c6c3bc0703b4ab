import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace, settled } from '../http/refusal.ts';
import type { TestAgent } from '../support/api.ts';
import { kitchen, taskFormat, tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

/** The orchestrator gives the cook a task, the cook a part of it to the butcher. */
const delegated = async (parley: TestParley) => {
  const { orchestrator, cook } = await kitchen(parley);
  const butcher = await parley.agent('butcher', { ...taskFormat, capabilities: ['cut_meat'] });
  const parent = tfRequest({ routing: { target: 'cook' } });
  const child = tfRequest({ type: 'cut_meat', context: { parentTaskId: parent.id } });
  assert.equal((await orchestrator.send(parent)).status, 202);
  await cook.claim();
  assert.equal((await cook.send(child)).status, 202);
  return { orchestrator, cook, butcher, parent, child };
};

const status = async (agent: TestAgent, { id }: { id: string }) => (await agent.task(id)).status;

describe('Task Format subtask', () => {
  it('names the parent in a subtask, and lists the subtask in its parent', async (t) => {
    const { orchestrator, butcher, parent, child } = await delegated(await testParley(t));
    assert.deepEqual((await orchestrator.task(parent.id)).subtasks, [child.id]);
    const [{ message }] = await butcher.claim();
    assert.equal(message.context.parentTaskId, parent.id);
    assert.deepEqual(message.routing, { source: 'cook', delegationChain: ['orchestrator', 'cook'] });
  });

  it('creates a subtask once when it is sent again', async (t) => {
    const { cook, butcher, parent, child } = await delegated(await testParley(t));
    assert.equal((await cook.send(child)).status, 200);
    assertRefused(await cook.send({ ...child, payload: {} }), 409, 'id_reused');
    assert.deepEqual((await cook.task(parent.id)).subtasks, [child.id]);
    assert.equal((await butcher.claim({ max: 10 })).length, 1);
  });

  it('carries a parent that is unknown, or not visible to the sender, to the agent that does the subtask', async (t) => {
    const { cook, butcher, parent } = await delegated(await testParley(t));
    await butcher.claim();
    for (const parentTaskId of ['the-users-own-request', parent.id]) {
      const part = tfRequest({ context: { parentTaskId } });
      assert.equal((await butcher.send(part)).status, 202);
      const [{ message }] = await cook.claim();
      assert.equal(message.context.parentTaskId, parentTaskId);
      assert.deepEqual(message.routing.delegationChain, ['butcher']);
    }
    assert.equal((await cook.task(parent.id)).subtasks.length, 1);
  });

  it('rejects a subtask for an agent of the delegation chain', async (t) => {
    const parley = await testParley(t);
    const { butcher, child } = await delegated(parley);
    await butcher.claim();
    for (const target of ['orchestrator', 'cook', 'butcher']) {
      const back = tfRequest({ routing: { target }, context: { parentTaskId: child.id } });
      const reply = await refusedWithoutTrace(parley, 422, 'delegation_cycle', () => butcher.send(back));
      assert.deepEqual(reply.body.delegationChain, ['orchestrator', 'cook', 'butcher']);
      assert.equal(reply.body.error.code, 'TASK_GRAPH_CYCLE');
    }
    const said = tfRequest({ routing: { target: 'cook', delegationChain: ['cook', 'x'] } });
    await refusedWithoutTrace(parley, 422, 'delegation_cycle', () => butcher.send(said));
    await parley.agent('fisher', taskFormat);
    const onward = tfRequest({ routing: { target: 'fisher' }, context: { parentTaskId: child.id } });
    assert.equal((await butcher.send(onward)).status, 202);
  });

  it('cancels a subtask and its own subtasks with its parent', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook, butcher, parent, child } = await delegated(parley);
    const done = tfRequest({ type: 'cut_meat', context: { parentTaskId: parent.id } });
    await cook.send(done);
    await butcher.claim({ max: 2 });
    await butcher.send({ id: done.id, status: 'completed' });
    const grandchild = tfRequest({ context: { parentTaskId: child.id } });
    await butcher.send(grandchild);
    await orchestrator.call('POST', `/v1/tasks/${parent.id}/cancel`);
    await cook.task(child.id, 20);
    await butcher.task(grandchild.id, 20);
    const ends = [await status(cook, child), await status(butcher, grandchild), await status(cook, done)];
    assert.deepEqual(ends, ['cancelled', 'cancelled', 'completed']);
    assertRefused(await butcher.send({ id: child.id, status: 'in_progress' }), 409, 'cancelled');
    await settled(parley);
    const told = (await butcher.inbox()).map(({ id, status: end }) => [id, end]);
    assert.deepEqual(
      told.toSorted(),
      [
        [child.id, 'cancelled'],
        [grandchild.id, 'cancelled'],
      ].toSorted(),
    );
  });

  it('rejects a subtask of a cancelled task', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook, parent } = await delegated(parley);
    await orchestrator.call('POST', `/v1/tasks/${parent.id}/cancel`);
    await settled(parley);
    const late = tfRequest({ context: { parentTaskId: parent.id } });
    await refusedWithoutTrace(parley, 409, 'cancelled', () => cook.send(late));
  });

  it('cancels or rejects a subtask that races with the cancellation of its parent', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook, parent } = await delegated(parley);
    const children = Array.from({ length: 8 }, () => tfRequest({ context: { parentTaskId: parent.id } }));
    const [, ...sent] = await Promise.all([
      orchestrator.call('POST', `/v1/tasks/${parent.id}/cancel`),
      ...children.map((child) => cook.send(child)),
    ]);
    for (const [at, reply] of sent.entries()) {
      const { id = '' } = children[at] ?? {};
      if (reply.status === 202) assert.equal((await cook.task(id, 20)).status, 'cancelled');
      else assertRefused(reply, 409, 'cancelled');
    }
  });
});
