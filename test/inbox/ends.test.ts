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

describe('a completed task', () => {
  it('is in the inbox of its requester as the message that completed it, at once and without a record of its own', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    const result = about('task.result', 'galahad', id, { status: 'completed', result: { content: 'x' } });
    assert.equal((await galahad.send(result)).status, 202);
    const [message] = await tim.inbox();
    assert.deepEqual([message.id, message.correlationId, message.from, message.to], [result.id, id, 'galahad', 'tim']);
    assert.deepEqual(message.payload.result, { content: 'x' });
    await settled(parley);
    assert.deepEqual(await parley.parley.deps.records.query({ pk: inboxPk('default', 'tim'), limit: 10 }), []);
  });

  it('leaves the inbox when it is acknowledged, is kept for as long as any other, and does not come back', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    const result = about('task.result', 'galahad', id, { status: 'completed', result: { content: 'x' } });
    await galahad.send(result);
    await ackAll(tim);
    assert.equal((await galahad.send(result)).body.duplicate, true);
    await parley.restart();
    await settled(parley);
    assert.deepEqual(await tim.inbox(), []);
    parley.clock.advance(6 * 86_400_000);
    const task = await tim.task(id);
    assert.deepEqual([task.state, task.result], ['completed', { content: 'x' }]);
  });
});

describe('the requester of a task that is run again', () => {
  const ends: [end: string, bring: (galahad: TestAgent, id: string, pass: (ms: number) => void) => Promise<unknown>][] =
    [
      ['failed', (galahad, id) => galahad.fail(id, { error: 'invalid_params' })],
      ['expired', async (_galahad, _id, pass) => pass(60_000)],
    ];
  for (const [end, bring] of ends) {
    for (const isRead of [true, false]) {
      it(`is told that it ${end} and of the result, each once, the first ${isRead ? '' : 'not '}acknowledged before`, async (t) => {
        const parley = await testParley(t);
        const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
        const id = await tim.request({ ttl: 60 });
        await bring(galahad, id, (ms) => parley.clock.advance(ms));
        await settled(parley);
        assert.equal((await tim.task(id)).state, end);
        assert.deepEqual(await told(tim), ['task.failed']);
        if (isRead) await ackAll(tim);
        parley.clock.advance(1);
        assert.equal((await tim.call('POST', `/v1/tasks/${id}/retry`)).status, 202);
        await settled(parley);
        assert.deepEqual(await told(tim), isRead ? [] : ['task.failed']);
        const [claimed] = await galahad.claim();
        assert.equal(claimed.message.id, id);
        parley.clock.advance(1);
        assert.equal((await galahad.complete(id)).status, 202);
        await settled(parley);
        assert.deepEqual(await told(tim), isRead ? ['task.result'] : ['task.failed', 'task.result']);
        assert.deepEqual((await parley.admin.call('GET', '/v1/dead-letters')).body.tasks, []);
        await ackAll(tim);
        assert.deepEqual(await told(tim), []);
      });
    }
  }

  it('is told of each of two failures', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    for (let times = 0; times < 2; times++) {
      await galahad.fail(id, { error: 'invalid_params' });
      await tim.call('POST', `/v1/tasks/${id}/retry`);
      parley.clock.advance(1);
    }
    await settled(parley);
    assert.deepEqual(await told(tim), ['task.failed', 'task.failed']);
    await ackAll(tim);
    assert.deepEqual(await told(tim), []);
  });
});
