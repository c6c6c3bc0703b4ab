import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { assertRefused } from '../http/refusal.ts';
import { testParley } from '../support/test-parley.ts';

const ended = async (t: TestContext, how: 'completed' | 'failed' = 'completed') => {
  const parley = await testParley(t);
  const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
  const id = await requester.request({ payload: { params: { scope: 'daily' } } });
  await worker.claim();
  if (how === 'completed') await worker.complete(id);
  else await worker.fail(id, { error: 'skill_missing', message: 'no' });
  return { parley, requester, worker, id };
};

describe('a task that is run again', () => {
  it('is a new task with another input, and each of the two names the other', async (t) => {
    const { requester, worker, id } = await ended(t);
    const old = await requester.task(id);
    const input = { ...old.payload, scope: 'weekly' };
    const { status, body } = await requester.call('POST', `/v1/tasks/${id}/rerun`, { input, priority: 'high' });
    assert.equal(status, 202, JSON.stringify(body));
    assert.partialDeepStrictEqual(body, { rerunOf: id, state: 'requested', from: 'requester', priority: 'high' });
    assert.notEqual(body.id, id);
    const [{ message }] = await worker.claim();
    assert.deepEqual([message.id, message.payload.params.scope ?? message.payload], [body.id, 'weekly']);
    await worker.complete(body.id);
    const after = await requester.task(id);
    assert.deepEqual([after.state, after.rerunAs, after.result], ['completed', body.id, old.result]);
    assert.deepEqual((await requester.task(body.id)).payload, input);
  });

  it('has the same input unless told otherwise, and is created once under one id', async (t) => {
    const { parley, requester, id } = await ended(t, 'failed');
    const path = `/v1/tasks/${id}/rerun`;
    const first = await requester.call('POST', path, { id: 'again-1' });
    const second = await parley.admin.call('POST', path, { id: 'again-1' });
    assert.deepEqual([first.status, first.body.id, second.status, second.body.id], [202, 'again-1', 200, 'again-1']);
    assert.deepEqual((await requester.task('again-1')).payload, (await requester.task(id)).payload);
    assertRefused(await requester.call('POST', path, { id: 'again-1', input: {} }), 409, 'id_reused');
    const { body } = await requester.call('GET', '/v1/dead-letters');
    assert.deepEqual([body.tasks[0].id, body.tasks[0].rerunAs], [id, 'again-1']);
    const events = (await parley.admin.call('GET', '/v1/events?type=task.requested')).body.events;
    assert.equal(events.find(({ data }: { data: { taskId: string } }) => data.taskId === 'again-1').data.rerunOf, id);
  });

  it('must have ended, and belong to the caller', async (t) => {
    const { parley, requester, worker, id } = await ended(t);
    const open = await requester.request();
    assertRefused(await requester.call('POST', `/v1/tasks/${open}/rerun`), 409, 'not_retryable');
    assertRefused(await worker.call('POST', `/v1/tasks/${id}/rerun`), 403, 'forbidden');
    const other = await parley.agent('other', { capabilities: ['home.scene'] });
    assertRefused(await other.call('POST', `/v1/tasks/${id}/rerun`), 404, 'task_not_found');
    assertRefused(await requester.call('POST', '/v1/tasks/none/rerun'), 404, 'task_not_found');
    assert.equal((await parley.admin.call('GET', '/v1/tasks?count=true')).body.count.value, 2);
  });
});

describe('a lease', () => {
  it('is as long as its renewal asks, also for later ones, and never beyond the limit', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const id = await requester.request();
    await worker.claim({ lease: 60 });
    const { clock } = parley;
    const renewed = async (body: object): Promise<number> => {
      const reply = await worker.call('POST', `/v1/tasks/${id}/renew`, body);
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
      return (Date.parse(reply.body.lease.until) - clock.now()) / 1000;
    };
    assert.equal(await renewed({ lease: 1200 }), 1200);
    clock.advance(1000_000);
    assert.equal((await requester.task(id)).state, 'claimed');
    assert.equal(await renewed({}), 1200);
    assert.equal(await renewed({ lease: 10 }), 1200);
    const { maxLeaseMs } = parley.parley.deps.config.tasks;
    assert.equal(await renewed({ lease: 86_400 }), maxLeaseMs / 1000);
    assert.equal((await worker.call('POST', `/v1/tasks/${id}/renew`, { lease: 0 })).status, 400);
  });
});
