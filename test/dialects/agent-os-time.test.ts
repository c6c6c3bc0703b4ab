import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, settled } from '../http/refusal.ts';
import { agentOsAgent, content } from '../support/agent-os-agent.ts';
import { taskFormat } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const TTL = 600;

const asked = async (t: Parameters<typeof testParley>[0], doing: object = { dialect: 'agent-os' }) => {
  const parley = await testParley(t);
  const brain = await agentOsAgent(parley, 'one-brain');
  const worker = await parley.agent('worker', doing);
  const query = await brain.say('query', 'worker', { ttl: TTL });
  const id = query.id.slice('msg-'.length);
  const wait = async (seconds: number) => {
    parley.clock.advance(seconds * 1000);
    await settled(parley);
  };
  const errors = async () =>
    (await brain.inbox()).map(({ payload }) => [payload.content.code, payload.content.message]);
  return { parley, brain, worker, query, id, wait, errors };
};

describe('AgentOS time to live', () => {
  it('ends a claimed query that is not answered within its ttl, and tells its requester and its holder', async (t) => {
    const { brain, worker, id, wait, errors } = await asked(t);
    await wait(TTL - 60);
    assert.equal((await worker.claim()).length, 1);
    await wait(59);
    assert.equal((await brain.task(id)).status, 'in_progress');
    await wait(1);
    const task = await brain.task(id);
    assert.deepEqual([task.state, task.error.code], ['expired', 'timeout']);
    assert.deepEqual(await errors(), [['TIMEOUT', `No answer came within ${TTL} s.`]]);
    const [told] = await worker.inbox();
    assert.deepEqual([told.type, told.replyTo, told.payload.content.code], ['error', id, 'TIMEOUT']);
    await wait(86_400);
    assert.equal((await brain.inbox()).length, 1);
  });

  it('refuses an answer after the ttl', async (t) => {
    const parley = await testParley(t);
    const [brain, scribe] = [await agentOsAgent(parley, 'one-brain'), await agentOsAgent(parley, 'scribe')];
    const query = await brain.say('query', 'scribe', { ttl: TTL });
    await scribe.claim();
    parley.clock.advance(TTL * 1000);
    await settled(parley);
    assertRefused(await scribe.respond('one-brain', query.id), 409, 'task_expired');
  });

  it('is lengthened neither by progress, nor by a renewed or a long lease', async (t) => {
    const { parley, brain, worker, query, id, wait } = await asked(t);
    assert.equal((await worker.claim({ lease: 3600 })).length, 1);
    for (let waited = 0; waited < TTL; waited += 100) {
      assert.equal((await brain.task(id)).status, 'in_progress');
      const event = { ...query, id: parley.clock.now().toString(16).padStart(32, '0') };
      const { from, to } = query;
      const uuid = event.id.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5');
      const said = { ...query, id: uuid, type: 'event', replyTo: query.id, from: to, to: from };
      assert.equal((await worker.send({ ...said, payload: content({ percent: waited / 10 }) })).status, 202);
      assert.equal((await worker.call('POST', `/v1/tasks/${id}/renew`)).status, 200);
      await wait(100);
    }
    assert.equal((await brain.task(id)).state, 'expired');
  });

  it('is not lengthened by a question of the holder', async (t) => {
    const { brain, worker, id, wait, errors } = await asked(t, taskFormat);
    await worker.claim();
    assert.equal((await worker.send({ id, status: 'input_required', input: { prompt: 'Which year?' } })).status, 202);
    await wait(TTL - 10);
    assert.equal((await brain.call('POST', `/v1/tasks/${id}/input`, { input: 2024 })).status, 202);
    await wait(9);
    assert.equal((await brain.task(id)).status, 'in_progress');
    await wait(1);
    assert.equal((await brain.task(id)).state, 'expired');
    assert.equal((await errors()).at(-1)?.[0], 'TIMEOUT');
  });

  it('ends while a question waits for its answer', async (t) => {
    const { brain, worker, id, wait } = await asked(t, taskFormat);
    await worker.send({ id, status: 'input_required', input: { prompt: 'Which year?' } });
    await wait(TTL);
    assert.equal((await brain.task(id)).state, 'expired');
    assertRefused(await brain.call('POST', `/v1/tasks/${id}/input`, { input: 2024 }), 409, 'task_expired');
  });

  it('leaves no time for another attempt at its end, and fails with the last error instead', async (t) => {
    const { brain, worker, id, wait, errors } = await asked(t, taskFormat);
    const fail = async (message: string) => {
      const error = { code: 'MCP_ERROR', message, recoverable: true };
      assert.equal((await worker.send({ id, status: 'failed', error })).status, 202);
    };
    await wait(TTL - 2);
    await fail('the source is slow');
    assert.equal((await brain.task(id)).state, 'requested');
    await wait(1);
    await fail('the source is down');
    assert.equal((await brain.task(id)).state, 'failed');
    assert.equal((await errors())[0]?.[1], 'the source is down');
  });

  it('ends a query whose lease is lost and that nobody takes again', async (t) => {
    const { brain, worker, id, wait } = await asked(t);
    await worker.claim({ lease: 30 });
    await wait(30);
    assert.equal((await brain.task(id)).state, 'requested');
    await wait(TTL - 30);
    assert.equal((await brain.task(id)).state, 'expired');
  });

  it('begins anew when an expired query is retried', async (t) => {
    const { brain, worker, id, wait } = await asked(t);
    await wait(TTL);
    assert.equal((await brain.call('POST', `/v1/tasks/${id}/retry`)).status, 202);
    assert.equal((await worker.claim({ wait: 20, lease: 3600 })).length, 1);
    await wait(TTL - 1);
    assert.equal((await brain.task(id)).status, 'in_progress');
    await wait(1);
    assert.equal((await brain.task(id)).state, 'expired');
  });
});
