import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace, settled } from '../http/refusal.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

const SCAN = { payload: { task: 'security.scan' } };
const DINNER = { payload: { task: 'home.dinner' }, domain: 'home' };

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const requester = await parley.agent('requester', { capabilities: [] });
  const worker = await parley.agent('worker', { capabilities: ['security.scan', 'home.*'] });
  const whole = await parley.agent('whole', { capabilities: ['security.*'] });
  const pause = (id: string, action = 'pause', body?: object) =>
    parley.admin.call('POST', `/v1/queues/${encodeURIComponent(id)}/${action}`, body);
  return { parley, requester, worker, whole, pause };
};

describe('a paused queue', () => {
  it('takes new tasks, shows them as waiting with the reason, and hands them to nobody', async (t) => {
    const { parley, requester, worker, whole, pause } = await start(t);
    const held = await requester.request(SCAN);
    assert.equal((await worker.claim()).length, 1);
    assert.equal((await pause('domain:security', 'pause', { reason: 'a bad release' })).status, 200);
    const id = await requester.request(SCAN);
    const other = await requester.request(DINNER);
    const direct = await requester.request({ ...SCAN, to: 'worker' });
    const claimed = await worker.claim({ max: 10 });
    assert.deepEqual(new Set(claimed.map(({ message }) => message.id)), new Set([other, direct]));
    assert.deepEqual(await whole.claim({ max: 10 }), []);
    assertRefused(await worker.claimed(id), 409, 'queue_paused');
    const since = new Date(parley.clock.now()).toISOString();
    const paused = { id: 'domain:security', by: 'admin', reason: 'a bad release', since };
    assert.deepEqual((await requester.task(id)).pausedQueue, paused);
    const listed = (await parley.admin.call('GET', '/v1/tasks?status=requested')).body.tasks;
    assert.deepEqual(
      listed.map((task: { pausedQueue: object }) => task.pausedQueue),
      [paused],
    );
    assert.equal((await requester.task(direct)).pausedQueue, undefined);
    const { queues } = (await parley.admin.call('GET', '/v1/queues?domain=security')).body;
    const scan = queues.find((queue: { id: string }) => queue.id === 'capability:security.scan');
    assert.deepEqual([scan.paused, scan.pause.reason, scan.waiting.value], [true, 'a bad release', 1]);
    // What an agent holds goes on.
    assert.equal((await worker.progress(held)).status, 202);
    assert.equal((await worker.complete(held)).status, 202);
    assert.equal((await pause('domain:security', 'resume')).status, 200);
    assert.equal((await requester.task(id)).pausedQueue, undefined);
    assert.equal((await worker.claim()).length, 1);
    await settled(parley);
    const { events } = (await parley.admin.call('GET', '/v1/events?limit=500')).body;
    const types = events.map(({ type }: { type: string }) => type).filter((type: string) => type.startsWith('queue.'));
    assert.deepEqual(types, ['queue.paused', 'queue.resumed']);
  });

  it('of one capability leaves the rest of its domain to those that serve it', async (t) => {
    const { requester, worker, whole, pause } = await start(t);
    await pause('capability:security.scan');
    const scan = await requester.request(SCAN);
    const brief = await requester.request();
    const claimed = await whole.claim({ max: 10 });
    assert.deepEqual(
      claimed.map(({ message }) => message.id),
      [brief],
    );
    assert.deepEqual(await worker.claim(), []);
    await pause('capability:security.scan', 'resume');
    assert.equal((await whole.claim())[0]?.message.id, scan);
  });

  it('hands nothing to a claim that waited before, and does so as soon as it is resumed', async (t) => {
    const { parley, requester, worker, pause } = await start(t);
    const waiting = worker.call('POST', '/v1/claims', { wait: 20 });
    await settled(parley);
    await pause('domain:security');
    const id = await requester.request(SCAN);
    await settled(parley);
    parley.clock.advance(2000);
    await settled(parley);
    assert.equal((await requester.task(id)).state, 'requested');
    await pause('domain:security', 'resume');
    await eventually(async () => {
      parley.clock.advance(1000);
      assert.equal((await requester.task(id)).state, 'claimed');
    });
    assert.equal((await waiting).body.tasks.length, 1);
  });

  it('stays paused over a restart, twice paused is once, and twice resumed is resumed', async (t) => {
    const { parley, requester, worker, pause } = await start(t);
    await pause('domain:security', 'pause', { reason: 'first' });
    await pause('domain:security', 'pause', { reason: 'second' });
    await parley.restart();
    const id = await requester.request(SCAN);
    assert.equal((await requester.task(id)).pausedQueue.reason, 'first');
    assert.deepEqual(await worker.claim(), []);
    for (const _ of [1, 2]) assert.equal((await pause('domain:security', 'resume')).status, 200);
    assert.equal((await worker.claim()).length, 1);
  });

  it('is one that there is, of no agent and of no domain on NATS', async (t) => {
    const { parley, worker, pause } = await start(t);
    const refuse = (status: number, code: Parameters<typeof refusedWithoutTrace>[2], id: string) =>
      refusedWithoutTrace(parley, status, code, () => pause(id));
    await refuse(422, 'unknown_domain', 'domain:nowhere');
    await refuse(400, 'invalid_request', 'agent:worker');
    await refuse(404, 'not_found', 'security');
    await refusedWithoutTrace(parley, 403, 'forbidden', () => worker.call('POST', '/v1/queues/domain:security/pause'));
  });
});
