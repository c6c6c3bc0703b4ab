import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, settled } from '../http/refusal.ts';
import { about, type TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const SECOND_MS = 1000;

const claimAfter = async ({ clock }: TestParley, agent: TestAgent, ms: number) => {
  clock.advance(ms);
  return eventually(async () => {
    const [claimed] = await agent.claim();
    assert.ok(claimed);
    return claimed;
  });
};

const retryAt = async (agent: TestAgent, id: string): Promise<number> => Date.parse((await agent.task(id)).retryAt);

/** Attempts per code, of three allowed. */
const attempts: [code: string, attempts: number][] = [
  ['rate_limited', 3],
  ['timeout', 3],
  ['model_error', 3],
  ['internal_error', 2],
  ['skill_missing', 1],
  ['invalid_params', 1],
];

describe('Round Table failure', () => {
  for (const [error, allowed] of attempts) {
    it(`fails a task after ${allowed} attempts with ${error}`, async (t) => {
      const parley = await testParley(t);
      const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
      const id = await tim.request();
      let [claimed] = await galahad.claim();
      for (let attempt = 1; attempt < allowed; attempt++) {
        assert.equal(claimed.attempt, attempt);
        assert.equal((await galahad.fail(id, { error })).status, 202);
        assert.equal((await tim.task(id)).state, 'requested');
        claimed = await claimAfter(parley, galahad, 10 * SECOND_MS);
      }
      assert.equal(claimed.attempt, allowed);
      assert.equal((await galahad.fail(id, { error })).status, 202);
      const task = await tim.task(id);
      assert.equal(task.state, 'failed');
      assert.equal(task.error.code, error);
      assert.equal(task.metadata.retryCount, allowed - 1);
    });
  }

  it('retries internal_error once, whatever other errors came before', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    const states: string[] = [];
    for (const error of ['internal_error', 'rate_limited', 'internal_error']) {
      await claimAfter(parley, galahad, 10 * SECOND_MS);
      await galahad.fail(id, { error });
      states.push((await tim.task(id)).state);
    }
    assert.deepEqual(states, ['requested', 'requested', 'failed']);
    const other = await tim.request();
    for (const error of ['rate_limited', 'internal_error']) {
      await claimAfter(parley, galahad, 10 * SECOND_MS);
      await galahad.fail(other, { error });
      assert.equal((await tim.task(other)).state, 'requested');
    }
  });

  it('fails a task at once if its agent calls the error final', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    await galahad.fail(id, { error: 'rate_limited', retryable: false });
    assert.equal((await tim.task(id)).state, 'failed');
  });

  it('fails a task at once with a final code, although its agent calls it retryable', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    await galahad.fail(id, { error: 'skill_missing', retryable: true });
    assert.equal((await tim.task(id)).state, 'failed');
  });

  it('accepts a task.result with status failed as a failure', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    const payload = { status: 'failed', error: 'skill_missing', message: 'cannot' };
    await galahad.send(about('task.result', 'galahad', id, payload));
    const task = await tim.task(id);
    assert.equal(task.state, 'failed');
    assert.deepEqual(task.error, { code: 'skill_missing', message: 'cannot', recoverable: false });
  });

  it('reads a failed task.result without a code as internal_error, and retries it once', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    const fail = () => galahad.send(about('task.result', 'galahad', id, { status: 'failed' }));
    await fail();
    assert.equal((await tim.task(id)).lastError.code, 'internal_error');
    await claimAfter(parley, galahad, 10 * SECOND_MS);
    await fail();
    assert.equal((await tim.task(id)).state, 'failed');
  });
});

describe('next attempt of a Round Table task', () => {
  it('starts the next attempt after the delay that the agent asked for, to the millisecond', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    await galahad.fail(id, { error: 'rate_limited', retryable: true, retryAfterSeconds: 60 });
    const at = parley.clock.now() + 60 * SECOND_MS;
    assert.equal(await retryAt(tim, id), at);
    parley.clock.advance(60 * SECOND_MS - 1);
    await settled(parley);
    assert.deepEqual(await galahad.claim(), []);
    assertRefused(await galahad.claimed(id), 409, 'retry_pending');
    const claimed = await claimAfter(parley, galahad, 1);
    assert.equal(claimed.message.id, id);
    assert.equal(claimed.attempt, 2);
  });

  it('starts the next attempt at once if the agent asks for it', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    await galahad.fail(id, { error: 'rate_limited', retryAfterSeconds: 0 });
    assert.equal((await claimAfter(parley, galahad, 0)).message.id, id);
  });

  it('starts the next attempts after exponentially growing delays if the agent names none', async (t) => {
    const config = { tasks: { ...(await testParley(t)).parley.deps.config.tasks, maxAttempts: 12 } };
    const parley = await testParley(t, { config });
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    const delays: number[] = [];
    for (let attempt = 1; attempt <= 10; attempt++) {
      await galahad.fail(id);
      const delay = (await retryAt(tim, id)) - parley.clock.now();
      delays.push(delay / SECOND_MS);
      await claimAfter(parley, galahad, delay);
    }
    assert.deepEqual(delays, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
  });

  it('drops the next attempt when the task is cancelled meanwhile', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    await galahad.fail(id);
    await tim.call('POST', `/v1/tasks/${id}/cancel`);
    parley.clock.advance(3600 * SECOND_MS);
    await settled(parley);
    assert.deepEqual(await galahad.claim(), []);
    assert.equal((await tim.task(id)).state, 'cancelled');
  });

  it('gives the next attempt a new time to live', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request({ ttl: 30 });
    await galahad.fail(id, { error: 'rate_limited', retryAfterSeconds: 100 });
    assert.equal((await claimAfter(parley, galahad, 100 * SECOND_MS)).message.id, id);
  });
});

describe('Round Table task that failed for good', () => {
  it('makes a failed task a dead letter, and sends its requester the failure', async (t) => {
    const { agent, admin } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    assert.equal((await tim.task(id)).deadLettered, false);
    await galahad.fail(id, { error: 'invalid_params', message: 'no such scope' });
    assert.equal((await tim.task(id)).deadLettered, true);
    const { tasks } = (await admin.call('GET', '/v1/dead-letters')).body;
    assert.deepEqual(
      tasks.map((task: { id: string }) => task.id),
      [id],
    );
    const [outcome] = await tim.inbox(20);
    assert.equal(outcome.type, 'task.failed');
    assert.equal(outcome.correlationId, id);
    assert.equal(outcome.payload.error, 'invalid_params');
    assert.equal(outcome.payload.message, 'no such scope');
    assert.equal(outcome.payload.retryable, false);
  });

  it('runs a failed task again after a manual retry, with new attempts', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    await galahad.fail(id, { error: 'invalid_params' });
    const reply = await tim.call('POST', `/v1/tasks/${id}/retry`);
    assert.equal(reply.status, 202);
    assert.equal(reply.body.state, 'requested');
    assert.deepEqual((await parley.admin.call('GET', '/v1/dead-letters')).body.tasks, []);
    const [claimed] = await galahad.claim();
    assert.equal(claimed.message.id, id);
    assert.equal(claimed.attempt, 2);
    await galahad.fail(id);
    assert.equal((await tim.task(id)).state, 'requested');
    await claimAfter(parley, galahad, 10 * SECOND_MS);
    assert.equal((await galahad.complete(id)).status, 202);
    await eventually(async () => assert.equal((await tim.inbox()).length, 2));
    const events: string[] = (await tim.task(id)).history.map(({ event }: { event: string }) => event);
    assert.deepEqual(events, [
      'requested',
      'claimed',
      'failed',
      'requested',
      'claimed',
      'released',
      'claimed',
      'completed',
    ]);
  });

  it('accepts a retry only of a failed task, and only from its requester or an administrator', async (t) => {
    const { agent, admin } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    assertRefused(await tim.call('POST', `/v1/tasks/${id}/retry`), 409, 'not_retryable');
    await galahad.fail(id, { error: 'invalid_params' });
    assertRefused(await galahad.call('POST', `/v1/tasks/${id}/retry`), 403, 'forbidden');
    assert.equal((await admin.call('POST', `/v1/tasks/${id}/retry`)).status, 202);
  });
});
