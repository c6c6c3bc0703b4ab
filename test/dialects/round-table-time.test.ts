import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace, settled } from '../http/refusal.ts';
import { type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

const SECOND_MS = 1000;
const LEASE_MS = 300 * SECOND_MS;

const inState = (agent: TestAgent, id: string, state: string) =>
  eventually(async () => {
    const task = await agent.task(id);
    assert.equal(task.state, state);
    return task;
  });

describe('Round Table time to live', () => {
  it('expires an unclaimed task to the second, and notifies the requester', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request({ ttl: 90 });
    parley.clock.advance(90 * SECOND_MS - 1);
    await settled(parley);
    assert.equal((await tim.task(id)).state, 'requested');
    parley.clock.advance(1);
    const task = await inState(tim, id, 'expired');
    assert.equal(task.status, 'failed');
    assert.equal(task.error.code, 'timeout');
    assert.equal(task.metadata.completedAt, new Date(parley.clock.now()).toISOString());
    assert.deepEqual(await galahad.claim(), []);
    await refusedWithoutTrace(parley, 409, 'task_expired', () => galahad.claimed(id));
    await refusedWithoutTrace(parley, 409, 'task_expired', () => galahad.complete(id));
    const [outcome] = await tim.inbox(20);
    assert.equal(outcome.type, 'task.failed');
    assert.equal(outcome.from, 'parley');
    assert.equal(outcome.correlationId, id);
    assert.equal(outcome.payload.error, 'timeout');
    assert.equal(outcome.payload.retryable, true);
  });

  it('expires a task although its timer is late', async (t) => {
    let now = Date.parse('2026-03-01T12:00:00Z');
    const { agent } = await testParley(t, { clock: { now: () => now, setAlarm: () => () => {} } });
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request({ ttl: 90 });
    now += 90 * SECOND_MS;
    assertRefused(await galahad.claimed(id), 409, 'task_expired');
    assertRefused(await galahad.complete(id), 409, 'task_expired');
    assert.deepEqual(await galahad.claim(), []);
    assert.equal((await tim.task(id)).state, 'requested');
  });

  it('counts the time to live on while Parley is down', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const id = await tim.request({ ttl: 90 });
    await parley.restart();
    parley.clock.advance(90 * SECOND_MS);
    await inState(tim, id, 'expired');
  });

  it('accepts a time to live of a week', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request({ ttl: 604_800 });
    for (let day = 0; day < 7; day++) {
      parley.clock.advance(86_399 * SECOND_MS);
      await settled(parley);
    }
    const [claimed] = await galahad.claim();
    assert.equal(claimed.message.id, id);
  });

  it('cuts a time to live above a week to a week, and says so', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const request = taskRequest('tim', { ttl: 30 * 86_400 });
    const reply = await tim.send(request);
    assert.equal(reply.status, 202);
    assert.deepEqual(reply.body.notices, ['The time to live of 2592000 s was cut to 604800 s, which is 7 days.']);
    const { expiresAt } = await tim.task(request.id);
    assert.equal(expiresAt, new Date(parley.clock.now() + 604_800 * SECOND_MS).toISOString());
    const again = await tim.send(request);
    assert.deepEqual([again.status, again.body.notices], [200, undefined]);
  });

  it('cuts the time to live of a broadcast in the same way', async (t) => {
    const parley = await testParley(t);
    const [arthur, tim] = [await parley.agent('arthur', { role: 'coordinator' }), await parley.agent('tim')];
    const alert = { ...taskRequest('arthur', { ttl: 1e9 }), type: 'broadcast.alert', payload: { text: 'Rotate.' } };
    const reply = await arthur.send(alert);
    assert.match(reply.body.notices[0], /cut to 604800 s/);
    const [read] = await tim.inbox(20);
    assert.equal(read.ttl, 604_800);
  });

  it('keeps a claimed task beyond its time to live', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request({ ttl: 90 });
    await galahad.claim();
    parley.clock.advance(91 * SECOND_MS);
    await settled(parley);
    assert.equal((await tim.task(id)).state, 'claimed');
    assert.equal((await galahad.complete(id)).status, 202);
  });

  it('gives a retried task a new time to live', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request({ ttl: 90 });
    parley.clock.advance(90 * SECOND_MS);
    await inState(tim, id, 'expired');
    assert.equal((await tim.call('POST', `/v1/tasks/${id}/retry`)).status, 202);
    assert.equal((await tim.task(id)).expiresAt, new Date(parley.clock.now() + 90 * SECOND_MS).toISOString());
    assert.equal((await galahad.claim())[0].message.id, id);
  });
});

describe('Round Table lease', () => {
  it('returns a task to its queue when the lease ends, and counts the next claim as the next attempt', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad, kay] = [await parley.agent('tim'), await parley.agent('galahad'), await parley.agent('kay')];
    const id = await tim.request();
    const [claimed] = await galahad.claim();
    assert.equal(claimed.lease.until, new Date(parley.clock.now() + LEASE_MS).toISOString());
    parley.clock.advance(LEASE_MS - 1);
    await settled(parley);
    assert.equal((await tim.task(id)).state, 'claimed');
    parley.clock.advance(1);
    const task = await inState(tim, id, 'requested');
    assert.equal(task.metadata.agent, undefined);
    const [again] = await kay.claim();
    assert.equal(again.message.id, id);
    assert.equal(again.attempt, 2);
    const reply = await refusedWithoutTrace(parley, 409, 'not_holder', () => galahad.complete(id));
    assert.equal(reply.body.holder, 'kay');
  });

  it('rejects reports of an ended attempt as stale, also if the same agent holds the next one', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    await galahad.claim();
    parley.clock.advance(LEASE_MS);
    await inState(tim, id, 'requested');
    const stale = () => galahad.progress(id, { percent: 10, attempt: 1 });
    await refusedWithoutTrace(parley, 409, 'stale_attempt', stale);
    await galahad.claim();
    const reply = await refusedWithoutTrace(parley, 409, 'stale_attempt', stale);
    assert.equal(reply.body.attempt, 2);
    await refusedWithoutTrace(parley, 409, 'stale_attempt', () =>
      galahad.call('POST', `/v1/tasks/${id}/renew`, { attempt: 1 }),
    );
    assert.equal((await galahad.progress(id, { percent: 10, attempt: 2 })).status, 202);
  });

  it('renews a lease by progress and by renewal', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    await galahad.claim();
    parley.clock.advance(LEASE_MS - 1);
    assert.equal((await galahad.progress(id)).status, 202);
    parley.clock.advance(LEASE_MS - 1);
    await settled(parley);
    const reply = await galahad.call('POST', `/v1/tasks/${id}/renew`, { attempt: 1 });
    assert.equal(reply.status, 200);
    assert.equal(reply.body.lease.until, new Date(parley.clock.now() + LEASE_MS).toISOString());
    parley.clock.advance(LEASE_MS - 1);
    await settled(parley);
    assert.equal((await tim.task(id)).state, 'in_progress');
    parley.clock.advance(1);
    await inState(tim, id, 'requested');
  });

  it('fails a task for good when its lease ends too often', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    for (let attempt = 1; attempt <= 3; attempt++) {
      assert.equal((await galahad.claim())[0].attempt, attempt);
      parley.clock.advance(LEASE_MS);
      await inState(tim, id, attempt < 3 ? 'requested' : 'failed');
    }
    const [outcome] = await tim.inbox(20);
    assert.equal(outcome.from, 'parley');
    assert.equal(outcome.payload.error, 'timeout');
    assert.equal((await tim.task(id)).deadLettered, true);
  });

  it('retries a task with a new time to live when its lease ends after the old one', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request({ ttl: 90 });
    await galahad.claim();
    parley.clock.advance(LEASE_MS);
    const task = await inState(tim, id, 'requested');
    assert.equal(task.lastError.code, 'timeout');
    parley.clock.advance(SECOND_MS);
    await eventually(async () => assert.equal((await galahad.claim())[0]?.attempt, 2));
  });
});
