import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace, settled } from '../http/refusal.ts';
import { eventually } from '../support/eventually.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { speakers } from '../support/speakers.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';
import { begun, complete, endsOf, fail, statuses, view } from './batch-of-cook.ts';

describe('batch', () => {
  it('ends a batch with success when all items are completed, and sends its result once', async (t) => {
    const { parley, orchestrator, cook, batch, ids } = await begun(t, 3);
    for (const [n, id] of ids.entries()) {
      await settled(parley);
      assert.equal((await view(orchestrator, batch.batchId)).status, 'open');
      assert.deepEqual(await orchestrator.inbox(), []);
      await complete(cook, id, { n });
    }
    const ended = await view(orchestrator, batch.batchId, 20);
    assert.deepEqual([ended.status, statuses(ended)], ['success', ['completed', 'completed', 'completed']]);
    const [message, ...more] = await orchestrator.inbox(20);
    assert.deepEqual(more, []);
    assert.equal(message.type, 'parley.batch');
    assert.deepEqual(message.payload, ended);
    assert.deepEqual(
      message.payload.results.map(({ result }: { result: unknown }) => result),
      [{ n: 0 }, { n: 1 }, { n: 2 }],
    );
    assert.equal((await orchestrator.call('POST', '/v1/inbox/ack', { ids: [message.signalId] })).body.acknowledged, 1);
    assert.deepEqual(await orchestrator.inbox(), []);
    await settled(parley);
    const [event, ...others] = await endsOf(parley);
    assert.deepEqual(others, []);
    assert.deepEqual(
      [event.data.batchId, event.data.status, event.data.ends],
      [batch.batchId, 'success', { completed: 3 }],
    );
  });

  it('ends a batch as partial when some items are completed, and as failed when none is', async (t) => {
    const { orchestrator, cook, batch, ids } = await begun(t, 2);
    await fail(cook, ids[0]);
    await complete(cook, ids[1]);
    const ended = await view(orchestrator, batch.batchId, 20);
    assert.deepEqual([ended.status, statuses(ended)], ['partial', ['failed', 'completed']]);
    assert.equal(ended.results[0].error.code, 'INVALID_INPUT');
    const other = { tasks: [tfRequest(), tfRequest()] };
    const { body } = await orchestrator.call('POST', '/v1/batches', other);
    await cook.claim({ max: 2 });
    await fail(cook, other.tasks[0]?.id);
    await orchestrator.call('POST', `/v1/tasks/${other.tasks[1]?.id}/cancel`);
    const none = await view(orchestrator, body.batchId, 20);
    assert.deepEqual([none.status, statuses(none)], ['failed', ['failed', 'cancelled']]);
  });

  it('ends a batch that is cancelled with the ends of its completed items, and cancels the open ones', async (t) => {
    const { parley, orchestrator, cook, batch, ids } = await begun(t, 3);
    await complete(cook, ids[1]);
    await settled(parley);
    const path = `/v1/batches/${batch.batchId}/cancel`;
    const other = await parley.agent('other');
    assertRefused(await other.call('POST', path), 404, 'batch_not_found');
    for (let times = 0; times < 2; times++) {
      const { status, body } = await orchestrator.call('POST', path, { reason: 'no guests' });
      assert.deepEqual(
        [status, body.status, statuses(body)],
        [200, 'cancelled', ['cancelled', 'completed', 'cancelled']],
      );
      assert.deepEqual([body.cancelledBy, body.cancelReason], ['orchestrator', 'no guests']);
    }
    await settled(parley);
    for (const id of [ids[0], ids[2]]) assert.equal((await orchestrator.task(id ?? '')).state, 'cancelled');
    const [message, ...more] = await orchestrator.inbox(20);
    assert.deepEqual([message.type, message.payload.status, more], ['parley.batch', 'cancelled', []]);
    assert.equal((await endsOf(parley)).length, 1);
    const done = await begun(t, 1);
    await complete(done.cook, done.ids[0]);
    await view(done.orchestrator, done.batch.batchId, 20);
    assertRefused(await done.orchestrator.call('POST', `/v1/batches/${done.batch.batchId}/cancel`), 409, 'batch_ended');
  });

  it('ends a batch with timeout at its deadline, to the second, and cancels its open items', async (t) => {
    const { parley, orchestrator, cook, batch, ids } = await begun(t, 3, { deadlineSeconds: 60 });
    await complete(cook, ids[1]);
    await settled(parley);
    parley.clock.advance(59_999);
    await settled(parley);
    assert.equal((await view(orchestrator, batch.batchId)).status, 'open');
    parley.clock.advance(1);
    const ended = await view(orchestrator, batch.batchId, 20);
    assert.deepEqual([ended.status, statuses(ended)], ['timeout', ['cancelled', 'completed', 'cancelled']]);
    await eventually(async () => assert.equal((await orchestrator.task(ids[2] ?? '')).status, 'cancelled'));
    assertRefused(await cook.send({ id: ids[0], status: 'completed' }), 409, 'cancelled');
    await settled(parley);
    assert.deepEqual(
      (await cook.inbox()).map(({ status }) => status),
      ['cancelled', 'cancelled'],
    );
    assert.equal((await orchestrator.inbox()).length, 1);
  });

  it('ends a fail-fast batch with the first failure, and cancels the other items', async (t) => {
    const { parley, orchestrator, cook, batch, ids } = await begun(t, 12, { failFast: true });
    await complete(cook, ids[0]);
    await fail(cook, ids[1]);
    const ended = await view(orchestrator, batch.batchId, 20);
    assert.deepEqual([ended.status, statuses(ended).slice(0, 3)], ['partial', ['completed', 'failed', 'cancelled']]);
    await eventually(async () => assert.equal((await orchestrator.task(ids[11] ?? '')).status, 'cancelled'));
    await settled(parley);
    assert.deepEqual(await cook.claim({ max: 10 }), []);
    assert.equal((await endsOf(parley)).length, 1);
  });

  it('counts an item of a batch once, also when it is retried', async (t) => {
    const { parley, orchestrator, cook, batch, ids } = await begun(t, 2);
    await fail(cook, ids[0]);
    await settled(parley);
    assert.equal((await orchestrator.call('POST', `/v1/tasks/${ids[0]}/retry`)).status, 202);
    await cook.claim();
    await complete(cook, ids[0]);
    await complete(cook, ids[1]);
    assert.equal((await view(orchestrator, batch.batchId, 20)).status, 'partial');
    await settled(parley);
    assert.equal((await orchestrator.inbox()).length, 1);
  });

  it('ends a batch when an item becomes a dead letter', async (t) => {
    const { parley, orchestrator, cook, batch, ids } = await begun(t, 2);
    await complete(cook, ids[0]);
    for (let attempt = 0; attempt < 5; attempt++) {
      parley.clock.advance(5 * 60_000);
      await settled(parley);
      await cook.claim();
    }
    const ended = await view(orchestrator, batch.batchId, 20);
    assert.deepEqual([ended.status, statuses(ended)], ['partial', ['completed', 'failed']]);
  });

  it('accepts a batch with requests of every dialect, and sends its result in the dialect of its requester', async (t) => {
    // A CommonGround call is a turn, not a task.
    const asking = speakers.filter(({ dialect }) => dialect !== 'common-ground');
    for (const { dialect, readNote } of speakers) {
      const parley = await testParley(t);
      const asker = await parley.agent('asker', { dialect, inbox: 'ends' });
      const worker = await parley.agent('worker', taskFormat);
      const tasks = asking.map(({ request }) => request('asker', 'worker', { scope: 'daily' }));
      assert.equal((await asker.call('POST', '/v1/batches', { batchId: 'all of them', tasks })).status, 202);
      for (const { message } of await worker.claim({ max: asking.length })) {
        await complete(worker, message.id, { done: true });
      }
      const [message] = await asker.inbox(20);
      assert.equal(readNote(message).from, 'parley');
      assert.match(JSON.stringify(message), /"parley\.batch"/);
      assert.match(JSON.stringify(message), /"batchId":"all of them","status":"success"/);
      assert.deepEqual((await asker.inbox()).length, 1);
    }
  });

  it('rejects a batch whose tasks depend on each other', async (t) => {
    const parley = await testParley(t);
    const asker = await parley.agent('asker', { ...messageRouting, inbox: 'ends' });
    await parley.agent('worker', messageRouting);
    const first = mrMessage('task-delegation', 'asker', 'worker');
    const context = { dependencies: [first.msg_id] };
    const second = mrMessage('task-delegation', 'asker', 'worker', { payload: { task: 'Then this', context } });
    const reply = await refusedWithoutTrace(parley, 422, 'unknown_dependency', () =>
      asker.call('POST', '/v1/batches', { tasks: [second, first] }),
    );
    assert.deepEqual(reply.body.issues[0].path, 'tasks[0]');
  });

  it('accepts a repeated batch once, with or without an id', async (t) => {
    const { parley, orchestrator, batch, cook } = await begun(t, 2);
    assert.equal((await orchestrator.call('POST', '/v1/batches', batch)).status, 200);
    assertRefused(await orchestrator.call('POST', '/v1/batches', { ...batch, failFast: true }), 409, 'id_reused');
    const nameless = { tasks: [tfRequest()] };
    const [first, second] = [
      await orchestrator.call('POST', '/v1/batches', nameless),
      await orchestrator.call('POST', '/v1/batches', nameless),
    ];
    assert.deepEqual([first.status, second.status, second.body.batchId], [202, 200, first.body.batchId]);
    await settled(parley);
    assert.equal((await cook.claim({ max: 10 })).length, 1);
    assertRefused(await cook.call('GET', `/v1/batches/${batch.batchId}`), 404, 'batch_not_found');
  });

  it('refers to a large result of an item by its URI', async (t) => {
    const { orchestrator, cook, batch, ids } = await begun(t, 1);
    await complete(cook, ids[0], { text: 'x'.repeat(10_000) });
    const ended = await view(orchestrator, batch.batchId, 20);
    assert.deepEqual(ended.results[0].uri, `/v1/tasks/${ids[0]}`);
    assert.equal((await orchestrator.call('GET', ended.results[0].uri)).body.result.text.length, 10_000);
  });
});
