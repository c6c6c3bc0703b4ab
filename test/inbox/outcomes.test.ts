import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inboxPk } from '../../shared/model/delivery.ts';
import { settled } from '../http/refusal.ts';
import { about, type TestAgent } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

const told = async (agent: TestAgent): Promise<string[]> => (await agent.inbox()).map(({ type }) => type);

const ackAll = async (agent: TestAgent): Promise<void> => {
  const ids = (await agent.inbox()).map(({ id }) => id);
  assert.equal((await agent.call('POST', '/v1/inbox/ack', { ids })).body.acknowledged, ids.length);
};

describe('outcome of a completed task', () => {
  it('shows the result message in the inbox of the requester at once, without an inbox record', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const id = await requester.request();
    const result = about('task.result', 'worker', id, { status: 'completed', result: { content: 'x' } });
    assert.equal((await worker.send(result)).status, 202);
    const [message] = await requester.inbox();
    assert.deepEqual(
      [message.id, message.correlationId, message.from, message.to],
      [result.id, id, 'worker', 'requester'],
    );
    assert.deepEqual(message.payload.result, { content: 'x' });
    await settled(parley);
    assert.deepEqual(await parley.parley.deps.records.query({ pk: inboxPk('default', 'requester'), limit: 10 }), []);
  });

  it('removes an acknowledged result from the inbox for good, and keeps the task', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const id = await requester.request();
    const result = about('task.result', 'worker', id, { status: 'completed', result: { content: 'x' } });
    await worker.send(result);
    await ackAll(requester);
    assert.equal((await worker.send(result)).body.duplicate, true);
    await parley.restart();
    await settled(parley);
    assert.deepEqual(await requester.inbox(), []);
    parley.clock.advance(6 * 86_400_000);
    const task = await requester.task(id);
    assert.deepEqual([task.state, task.result], ['completed', { content: 'x' }]);
  });
});

describe('outcomes of a retried task', () => {
  const ends: [end: string, bring: (worker: TestAgent, id: string, pass: (ms: number) => void) => Promise<unknown>][] =
    [
      ['failed', (worker, id) => worker.fail(id, { error: 'invalid_params' })],
      ['expired', async (_worker, _id, pass) => pass(60_000)],
    ];
  for (const [end, bring] of ends) {
    for (const isRead of [true, false]) {
      it(`sends the requester that its task ${end} and then its result, each once, the first ${isRead ? '' : 'not '}acknowledged before`, async (t) => {
        const parley = await testParley(t);
        const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
        const id = await requester.request({ ttl: 60 });
        await bring(worker, id, (ms) => parley.clock.advance(ms));
        await settled(parley);
        assert.equal((await requester.task(id)).state, end);
        assert.deepEqual(await told(requester), ['task.failed']);
        if (isRead) await ackAll(requester);
        parley.clock.advance(1);
        assert.equal((await requester.call('POST', `/v1/tasks/${id}/retry`)).status, 202);
        await settled(parley);
        assert.deepEqual(await told(requester), isRead ? [] : ['task.failed']);
        const [claimed] = await worker.claim();
        assert.equal(claimed.message.id, id);
        parley.clock.advance(1);
        assert.equal((await worker.complete(id)).status, 202);
        await settled(parley);
        assert.deepEqual(await told(requester), isRead ? ['task.result'] : ['task.failed', 'task.result']);
        assert.deepEqual((await parley.admin.call('GET', '/v1/dead-letters')).body.tasks, []);
        await ackAll(requester);
        assert.deepEqual(await told(requester), []);
      });
    }
  }

  it('sends the requester each of two failures', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const id = await requester.request();
    for (let times = 0; times < 2; times++) {
      await worker.fail(id, { error: 'invalid_params' });
      await requester.call('POST', `/v1/tasks/${id}/retry`);
      parley.clock.advance(1);
    }
    await settled(parley);
    assert.deepEqual(await told(requester), ['task.failed', 'task.failed']);
    await ackAll(requester);
    assert.deepEqual(await told(requester), []);
  });
});
