import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { about, type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';
import { refusedWithoutTrace } from './refusal.ts';

const sendAll = (agent: TestAgent, messages: unknown[]) => agent.call('POST', '/v1/messages', { messages });
const statuses = (results: { status: number }[]): number[] => results.map(({ status }) => status);
const requests = (count: number) => Array.from({ length: count }, () => taskRequest('tim'));

describe('a batch of messages', () => {
  it('may have 25, each answered in its place', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const messages = requests(25);
    const reply = await sendAll(tim, messages);
    assert.equal(reply.status, 200);
    const expected = messages.map(({ id }) => ({
      status: 202,
      body: { id, dialect: 'round-table', duplicate: false, taskId: id },
    }));
    assert.deepEqual(reply.body.results, expected);
    await eventually(async () => assert.equal((await tim.call('GET', '/v1/tasks?limit=100')).body.tasks.length, 25));
  });

  it('of 26 is refused whole', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const reply = await refusedWithoutTrace(parley, 413, 'too_large', () => sendAll(tim, requests(26)));
    assert.equal(reply.body.limit, 25);
  });

  it('of none is answered with none', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    assert.deepEqual((await sendAll(tim, [])).body, { results: [] });
  });

  it('is not spoiled by a bad one', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const good = taskRequest('tim');
    const other = { ...good, priority: 'high' };
    const bad = [null, 5, [], {}, taskRequest('kay'), taskRequest('tim', { ttl: 0 }), { ...good, version: '2.0' }];
    const { body } = await sendAll(tim, [...bad, good, good, other]);
    assert.deepEqual(statuses(body.results), [400, 400, 400, 400, 403, 400, 400, 202, 200, 409]);
    const codes = body.results.map((result: { body: { code?: string } }) => result.body.code);
    const shapeless = ['invalid_message', 'invalid_message', 'invalid_message', 'unknown_dialect'];
    const rest = ['from_mismatch', 'invalid_message', 'unsupported_version', undefined, undefined, 'id_reused'];
    assert.deepEqual(codes, [...shapeless, ...rest]);
    assert.equal((await tim.task(good.id)).state, 'requested');
  });

  it('keeps the order of messages about one task', async (t) => {
    const { agent } = await testParley(t);
    const galahad = await agent('galahad');
    const messages = Array.from({ length: 6 }, () => {
      const request = taskRequest('galahad');
      return [
        request,
        about('task.claimed', 'galahad', request.id, { message: 'mine' }),
        about('task.progress', 'galahad', request.id, { percent: 50 }),
        about('task.result', 'galahad', request.id, { status: 'completed', result: { of: request.id } }),
      ];
    });
    const { body } = await sendAll(galahad, messages.flat());
    assert.deepEqual(statuses(body.results), Array(24).fill(202));
    for (const [request] of messages) {
      const task = await galahad.task(request?.id ?? '');
      assert.equal(task.state, 'completed');
      assert.equal(task.attempt, 1);
      assert.deepEqual(task.claim, { message: 'mine' });
      assert.deepEqual(task.result, { of: request?.id });
    }
  });

  it('takes a result before its request for what it is: about a task that is not there', async (t) => {
    const { agent } = await testParley(t);
    const galahad = await agent('galahad');
    const request = taskRequest('galahad');
    const result = about('task.result', 'galahad', request.id, { status: 'completed', result: {} });
    const { body } = await sendAll(galahad, [result, request]);
    assert.deepEqual(statuses(body.results), [404, 202]);
    assert.equal((await galahad.task(request.id)).state, 'requested');
  });
});
