import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toUuid } from '../../shared/kernel/ids.ts';
import { assertRefused, settled } from '../http/refusal.ts';
import { speakers } from '../support/speakers.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const ID = 'dinner for eight #2';

const given = async (t: Parameters<typeof testParley>[0], dialect: string, overrides: object = {}) => {
  const parley = await testParley(t);
  const orchestrator = await parley.agent('orchestrator', taskFormat);
  const worker = await parley.agent('worker', { dialect });
  const task = tfRequest({ id: ID, routing: { target: 'worker' }, ...overrides });
  assert.equal((await orchestrator.send(task)).status, 202);
  const speaker = speakers.find((one) => one.dialect === dialect);
  assert.ok(speaker);
  return { parley, orchestrator, worker, speaker, message: await speaker.take(worker) };
};

describe('task alias', () => {
  for (const { dialect, progress, complete, nameOf, calledIn, outputOf } of speakers) {
    it(`accepts ${dialect} reports under the alias of a task whose id is not a UUID`, async (t) => {
      const { orchestrator, worker, speaker, message } = await given(t, dialect);
      const called = calledIn(message);
      assert.equal(called, nameOf(ID));
      const talk = { from: worker, to: 'orchestrator', taskId: called };
      const say = async (said: object) => (await speaker.say(worker, said)).status;
      const half = progress(talk, 50, 'half');
      assert.deepEqual([await say(half), await say(half)], [202, 200]);
      const done = complete(talk, { dish: 'soup' });
      assert.deepEqual([await say(done), await say(done)], [202, 200]);
      const [outcome] = await orchestrator.inbox(20);
      assert.deepEqual([outcome.id, outcome.result], [ID, outputOf?.({ dish: 'soup' }) ?? { dish: 'soup' }]);
      assert.equal((await worker.task(called)).id, ID);
    });
  }

  it('gives the holder the id of a task together with its alias', async (t) => {
    const { message } = await given(t, 'round-table');
    assert.equal(message.parley.taskId, ID);
  });

  it('renews and cancels a task by its alias and notifies the holder under that alias', async (t) => {
    const { parley, orchestrator, worker, message } = await given(t, 'agent-os');
    assert.equal((await worker.call('POST', `/v1/tasks/${message.id}/renew`)).status, 200);
    assert.equal((await orchestrator.call('POST', `/v1/tasks/${message.id}/cancel`)).status, 200);
    await settled(parley);
    const [told] = await worker.inbox();
    assert.deepEqual([told.replyTo, told.parley.taskId], [message.id, ID]);
  });

  it('resolves an alias that a subtask names as its parent', async (t) => {
    const { parley, worker } = await given(t, 'task-format');
    const reader = await parley.agent('reader');
    const part = tfRequest({ routing: { target: 'reader' }, context: { parentTaskId: ID } });
    assert.equal((await worker.send(part)).status, 202);
    const [{ message }] = await reader.claim();
    assert.equal((await worker.task(message.correlationId)).id, ID);
  });

  it('resolves an alias only after a holder received it and only for agents that may read the task', async (t) => {
    const parley = await testParley(t);
    const orchestrator = await parley.agent('orchestrator', taskFormat);
    const stranger = await parley.agent('stranger');
    await parley.agent('worker');
    assert.equal((await orchestrator.send(tfRequest({ id: ID, routing: { target: 'worker' } }))).status, 202);
    const path = `/v1/tasks/${toUuid(ID)}`;
    assertRefused(await orchestrator.call('GET', path), 404, 'task_not_found');
    assert.equal((await parley.admin.call('POST', '/v1/claims', { agent: 'worker' })).body.tasks.length, 1);
    assert.equal((await orchestrator.call('GET', path)).status, 200);
    assertRefused(await stranger.call('GET', path), 404, 'task_not_found');
    const told = await stranger.complete(toUuid(ID));
    assertRefused(told, 404, 'task_not_found');
    assert.ok(!told.body.detail.includes(ID), told.body.detail);
  });
});
