import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Caller } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';
import { settled } from './refusal.ts';

interface Told {
  id: string;
  type: string;
  at: number;
  data: { taskId: string; from: string; [field: string]: unknown };
}

const read = async (caller: Caller, query = ''): Promise<{ events: Told[]; cursor: string }> => {
  const { status, body } = await caller.call('GET', `/v1/events?limit=500${query}`);
  assert.equal(status, 200);
  return { ...body, events: body.events.filter(({ data }: Told) => data.from !== 'witness') };
};
const typesOf = (events: Told[]): string[] => events.map(({ type }) => type);

describe('event log', () => {
  it('lists every event of a task in order', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const id = await requester.request();
    await worker.claim();
    await worker.progress(id, { percent: 40, message: 'on it' });
    await worker.fail(id, { error: 'rate_limited' });
    await requester.call('POST', `/v1/tasks/${id}/cancel`);
    await settled(parley);
    const { events } = await read(parley.admin);
    const life = ['task.requested', 'task.claimed', 'task.progress', 'task.retrying', 'task.cancelled'];
    assert.deepEqual(typesOf(events), life);
    assert.equal(new Set(events.map((event) => event.id)).size, 5);
    for (const { data, at } of events) {
      assert.equal(data.taskId, id);
      assert.equal(data.domain, 'security');
      assert.equal(at, parley.clock.now());
    }
    const [, claimed, progress] = events;
    assert.equal(claimed?.data.agent, 'worker');
    assert.equal(progress?.data.percent, 40);
  });

  it('continues the event log from a cursor without a gap and without a repetition', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    for (let sent = 0; sent < 10; sent++) await requester.request();
    await settled(parley);
    const { events: all } = await read(requester);
    const pieces: Told[] = [];
    for (let after = '', more = true; more; ) {
      const { body } = await requester.call('GET', `/v1/events?limit=3${after}`);
      pieces.push(...body.events);
      more = body.events.length > 0;
      after = `&after=${body.cursor}`;
    }
    assert.deepEqual(pieces, all);
    assert.equal(all.length, 10);
  });

  it('filters events by type', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const id = await requester.request();
    await worker.claim();
    await worker.complete(id);
    await settled(parley);
    assert.deepEqual(typesOf((await read(requester, '&type=task.completed')).events), ['task.completed']);
    const two = await read(requester, '&type=task.completed,task.requested');
    assert.deepEqual(typesOf(two.events), ['task.requested', 'task.completed']);
    assert.deepEqual((await read(requester, '&type=task.unheard-of')).events, []);
  });

  it('advances the cursor past events that the caller may not read', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const homeWorker = await parley.agent('home-worker', { capabilities: ['home.scene'] });
    await requester.request();
    await settled(parley);
    const first = await read(homeWorker);
    assert.deepEqual(first.events, []);
    assert.equal(first.cursor, (await read(parley.admin)).cursor);
    await requester.request();
    await settled(parley);
    const second = await read(homeWorker, `&after=${first.cursor}`);
    assert.deepEqual(second.events, []);
    assert.notEqual(second.cursor, first.cursor);
    assert.equal(second.cursor, (await read(parley.admin)).cursor);
  });

  it('shows an agent only events of tasks that it may read', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const homeWorker = await parley.agent('home-worker', { capabilities: ['home.scene'] });
    const domain = await requester.request();
    const directed = await requester.request({ to: 'worker' });
    const home = await requester.request({ to: 'home-worker', payload: { task: 'home.scene' } });
    const otherWorker = await parley.agent('other-worker');
    await settled(parley);
    const heard = async (caller: Caller) => (await read(caller)).events.map(({ data }) => data.taskId);
    assert.deepEqual(await heard(requester), [domain, directed, home]);
    assert.deepEqual(await heard(worker), [domain, directed]);
    assert.deepEqual(await heard(homeWorker), [home]);
    assert.deepEqual(await heard(otherWorker), [domain]);
  });

  it('shows the events of a claimed task only to agents that may read the task', async (t) => {
    const parley = await testParley(t);
    const [requester, worker, otherWorker] = [
      await parley.agent('requester'),
      await parley.agent('worker'),
      await parley.agent('other-worker'),
    ];
    const id = await requester.request();
    await worker.claim();
    await worker.progress(id, { percent: 40, message: 'not for other-worker' });
    await worker.fail(id, { error: 'invalid_params', message: 'nor this' });
    await settled(parley);
    const life = ['task.requested', 'task.claimed', 'task.progress', 'task.failed'];
    for (const caller of [requester, worker, parley.admin])
      assert.deepEqual(typesOf((await read(caller)).events), life);
    assert.deepEqual(typesOf((await read(otherWorker)).events), ['task.requested']);
  });

  it('keeps the event log across a restart', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    await requester.request();
    await settled(parley);
    const before = await read(requester);
    await parley.restart();
    assert.deepEqual(await read(requester), before);
    await requester.request();
    await settled(parley);
    assert.equal((await read(requester, `&after=${before.cursor}`)).events.length, 1);
  });
});
