import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { about, type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';
import { refusedWithoutTrace } from './refusal.ts';

const sendAll = (agent: TestAgent, messages: unknown[]) => agent.call('POST', '/v1/messages', { messages });
const statuses = (results: { status: number }[]): number[] => results.map(({ status }) => status);
const requests = (count: number) => Array.from({ length: count }, () => taskRequest('requester'));

describe('messages in one call', () => {
  it('accepts 25 messages in one call and returns a result for each in order', async (t) => {
    const { agent } = await testParley(t);
    const requester = await agent('requester');
    const messages = requests(25);
    const reply = await sendAll(requester, messages);
    assert.equal(reply.status, 200);
    const expected = messages.map(({ id }) => ({
      status: 202,
      body: { id, dialect: 'round-table', duplicate: false, taskId: id },
    }));
    assert.deepEqual(reply.body.results, expected);
    await eventually(async () =>
      assert.equal((await requester.call('GET', '/v1/tasks?limit=100')).body.tasks.length, 25),
    );
  });

  it('rejects a call with 26 messages as a whole', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const reply = await refusedWithoutTrace(parley, 413, 'too_large', () => sendAll(requester, requests(26)));
    assert.equal(reply.body.limit, 25);
  });

  it('returns no results for a call with an empty list of messages', async (t) => {
    const { agent } = await testParley(t);
    const requester = await agent('requester');
    assert.deepEqual((await sendAll(requester, [])).body, { results: [] });
  });

  it('accepts valid messages beside invalid ones', async (t) => {
    const { agent } = await testParley(t);
    const requester = await agent('requester');
    const good = taskRequest('requester');
    const other = { ...good, priority: 'high' };
    const bad = [
      null,
      5,
      [],
      {},
      taskRequest('other-agent'),
      taskRequest('requester', { ttl: 0 }),
      { ...good, version: '2.0' },
    ];
    const { body } = await sendAll(requester, [...bad, good, good, other]);
    assert.deepEqual(statuses(body.results), [400, 400, 400, 400, 403, 400, 400, 202, 200, 409]);
    const codes = body.results.map((result: { body: { code?: string } }) => result.body.code);
    const shapeless = ['invalid_message', 'invalid_message', 'invalid_message', 'unknown_dialect'];
    const rest = ['from_mismatch', 'invalid_message', 'unsupported_version', undefined, undefined, 'id_reused'];
    assert.deepEqual(codes, [...shapeless, ...rest]);
    assert.equal((await requester.task(good.id)).state, 'requested');
  });

  it('executes the messages about one task in order', async (t) => {
    const { agent } = await testParley(t);
    const worker = await agent('worker');
    const messages = Array.from({ length: 6 }, () => {
      const request = taskRequest('worker');
      return [
        request,
        about('task.claimed', 'worker', request.id, { message: 'mine' }),
        about('task.progress', 'worker', request.id, { percent: 50 }),
        about('task.result', 'worker', request.id, { status: 'completed', result: { of: request.id } }),
      ];
    });
    const { body } = await sendAll(worker, messages.flat());
    assert.deepEqual(statuses(body.results), Array(24).fill(202));
    for (const [request] of messages) {
      const task = await worker.task(request?.id ?? '');
      assert.equal(task.state, 'completed');
      assert.equal(task.attempt, 1);
      assert.deepEqual(task.claim, { message: 'mine' });
      assert.deepEqual(task.result, { of: request?.id });
    }
  });

  it('rejects a result that comes before its request in the same call', async (t) => {
    const { agent } = await testParley(t);
    const worker = await agent('worker');
    const request = taskRequest('worker');
    const result = about('task.result', 'worker', request.id, { status: 'completed', result: {} });
    const { body } = await sendAll(worker, [result, request]);
    assert.deepEqual(statuses(body.results), [404, 202]);
    assert.equal((await worker.task(request.id)).state, 'requested');
  });
});
