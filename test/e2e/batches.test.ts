import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { groundAgent, Worker } from '../support/ground.ts';
import { tfRequest } from '../support/task-format.ts';
import { deployment } from './deployment.ts';

const { admin, agent } = await deployment();
const PATIENCE_MS = 30_000;

/** A requester of Round Table, and a worker of Task Format for whom the tasks of each batch are. */
const pair = async () => [await agent('asker'), await agent('worker', { dialect: 'task-format' })] as const;

describe('a batch', () => {
  it('of several dialects is told once, when all of it is done', async () => {
    const [asker, worker] = await pair();
    const target = worker.id;
    // Large enough that the requests do not fit into the record of the batch.
    const tasks = [
      taskRequest(asker.id, { to: target, payload: { params: { text: 'x'.repeat(3000) } } }),
      tfRequest({ routing: { target }, payload: { text: 'x'.repeat(3000) } }),
      tfRequest({ routing: { target }, payload: { text: 'x'.repeat(6000) } }),
    ];
    const batch = { batchId: randomUUID(), tasks };
    assert.equal((await asker.call('POST', '/v1/batches', batch)).status, 202);
    assert.equal((await asker.call('POST', '/v1/batches', batch)).status, 200);
    const done = new Set<string>();
    await eventually(async () => {
      for (const { message } of await worker.claim({ max: 5, wait: 5 })) {
        assert.equal(
          (await worker.send({ id: message.id, status: 'completed', result: { of: message.id } })).status,
          202,
        );
        done.add(message.id);
      }
      assert.equal(done.size, 3);
    }, PATIENCE_MS);
    const { body } = await asker.call('GET', `/v1/batches/${batch.batchId}?wait=20`);
    assert.deepEqual(
      [body.status, body.results.map(({ result }: { result: { of: string } }) => result.of)],
      ['success', tasks.map(({ id }) => id)],
    );
    const messages = await asker.inbox(20);
    assert.deepEqual(
      messages.map(({ from, payload }) => [from, payload.content]),
      [['parley', body]],
    );
    const ack = await asker.call('POST', '/v1/inbox/ack', { ids: [messages[0].id] });
    assert.equal(ack.body.acknowledged, 1);
    await eventually(async () => {
      const { events } = (await admin.call('GET', '/v1/events?type=batch.ended&limit=500')).body;
      assert.ok(events.some(({ data }: { data: { batchId: string } }) => data.batchId === batch.batchId));
    }, PATIENCE_MS);
  });

  it('of turns is told when all of them have ended', async () => {
    const [asker] = await pair();
    const merlin = await groundAgent({ admin, agent }, 'merlin');
    const worker = new Worker(merlin);
    const subject = `cg.v1r3.default.public.cmd.agent.${merlin.id}.turn`;
    const tasks = [1, 2].map(() => ({ subject, payload: { correlation_id: randomUUID() } }));
    const asked = await asker.call('POST', '/v1/batches', { tasks });
    assert.equal(asked.status, 202, JSON.stringify(asked.body));
    for (const _ of tasks) await worker.deliver(await eventually(() => worker.begin(), PATIENCE_MS));
    await eventually(async () => {
      const { body } = await asker.call('GET', `/v1/batches/${asked.body.batchId}?wait=20`);
      assert.equal(body.status, 'success');
    }, PATIENCE_MS);
    const refused = { subject, payload: { correlation_id: randomUUID(), recursion_depth: 20 } };
    const { body } = await asker.call('POST', '/v1/batches', { tasks: [refused] });
    assert.equal(body.code, 'recursion_depth_exceeded');
  });

  it('that fails fast, or whose time is over, stops what is still running', async () => {
    const [asker, worker] = await pair();
    const tasks = () => [1, 2, 3].map(() => tfRequest({ routing: { source: asker.id, target: worker.id } }));
    const fast = { batchId: randomUUID(), failFast: true, tasks: tasks() };
    const slow = { batchId: randomUUID(), deadlineSeconds: 3, tasks: tasks() };
    for (const batch of [fast, slow]) assert.equal((await asker.call('POST', '/v1/batches', batch)).status, 202);
    const error = { code: 'INVALID_INPUT', message: 'no' };
    assert.equal((await worker.send({ id: fast.tasks[0]?.id, status: 'failed', error })).status, 202);
    for (const [batch, status] of [
      [fast, 'failed'],
      [slow, 'timeout'],
    ] as const) {
      await eventually(async () => {
        const { body } = await asker.call('GET', `/v1/batches/${batch.batchId}?wait=20`);
        assert.equal(body.status, status);
        assert.equal((await asker.task(batch.tasks[2]?.id ?? '', 20)).status, 'cancelled');
      }, 90_000);
    }
  });
});
