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

describe('the event log', () => {
  it('tells every step of a task in order', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    await galahad.claim();
    await galahad.progress(id, { percent: 40, message: 'on it' });
    await galahad.fail(id, { error: 'rate_limited' });
    await tim.call('POST', `/v1/tasks/${id}/cancel`);
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
    assert.equal(claimed?.data.agent, 'galahad');
    assert.equal(progress?.data.percent, 40);
  });

  it('is read on from a cursor, without a gap and without a repetition', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    for (let sent = 0; sent < 10; sent++) await tim.request();
    await settled(parley);
    const { events: all } = await read(tim);
    const pieces: Told[] = [];
    for (let after = '', more = true; more; ) {
      const { body } = await tim.call('GET', `/v1/events?limit=3${after}`);
      pieces.push(...body.events);
      more = body.events.length > 0;
      after = `&after=${body.cursor}`;
    }
    assert.deepEqual(pieces, all);
    assert.equal(all.length, 10);
  });

  it('can be filtered by types', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    await galahad.claim();
    await galahad.complete(id);
    await settled(parley);
    assert.deepEqual(typesOf((await read(tim, '&type=task.completed')).events), ['task.completed']);
    const two = await read(tim, '&type=task.completed,task.requested');
    assert.deepEqual(typesOf(two.events), ['task.requested', 'task.completed']);
    assert.deepEqual((await read(tim, '&type=task.unheard-of')).events, []);
  });

  it('moves its cursor on past what the caller may not hear', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const kay = await parley.agent('kay', { capabilities: ['home.scene'] });
    await tim.request();
    await settled(parley);
    const first = await read(kay);
    assert.deepEqual(first.events, []);
    assert.equal(first.cursor, (await read(parley.admin)).cursor);
    await tim.request();
    await settled(parley);
    const second = await read(kay, `&after=${first.cursor}`);
    assert.deepEqual(second.events, []);
    assert.notEqual(second.cursor, first.cursor);
    assert.equal(second.cursor, (await read(parley.admin)).cursor);
  });

  it('tells an agent only what concerns it', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const kay = await parley.agent('kay', { capabilities: ['home.scene'] });
    const domain = await tim.request();
    const directed = await tim.request({ to: 'galahad' });
    const home = await tim.request({ to: 'kay', payload: { task: 'home.scene' } });
    const lancelot = await parley.agent('lancelot');
    await settled(parley);
    const heard = async (caller: Caller) => (await read(caller)).events.map(({ data }) => data.taskId);
    assert.deepEqual(await heard(tim), [domain, directed, home]);
    assert.deepEqual(await heard(galahad), [domain, directed]);
    assert.deepEqual(await heard(kay), [home]);
    assert.deepEqual(await heard(lancelot), [domain]);
  });

  it('tells of a task that another has claimed only to whom the task itself is shown', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad, lancelot] = [
      await parley.agent('tim'),
      await parley.agent('galahad'),
      await parley.agent('lancelot'),
    ];
    const id = await tim.request();
    await galahad.claim();
    await galahad.progress(id, { percent: 40, message: 'not for lancelot' });
    await galahad.fail(id, { error: 'invalid_params', message: 'nor this' });
    await settled(parley);
    const life = ['task.requested', 'task.claimed', 'task.progress', 'task.failed'];
    for (const caller of [tim, galahad, parley.admin]) assert.deepEqual(typesOf((await read(caller)).events), life);
    assert.deepEqual(typesOf((await read(lancelot)).events), ['task.requested']);
  });

  it('survives a restart', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    await tim.request();
    await settled(parley);
    const before = await read(tim);
    await parley.restart();
    assert.deepEqual(await read(tim), before);
    await tim.request();
    await settled(parley);
    assert.equal((await read(tim, `&after=${before.cursor}`)).events.length, 1);
  });
});
