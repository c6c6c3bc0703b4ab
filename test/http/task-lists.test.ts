import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canonicalId } from '../../shared/ids.ts';
import { agentOsMessage } from '../support/agent-os-agent.ts';
import { type Caller, type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

/** All pages, each of which must be no larger than asked for. */
const pagesOf = async (caller: Caller, path: string, limit: number): Promise<string[][]> => {
  const pages: string[][] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const at = cursor && `&cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await caller.call('GET', `${path}limit=${limit}${at}`);
    assert.equal(status, 200);
    assert.ok(body.tasks.length <= limit);
    pages.push(body.tasks.map(({ id }: { id: string }) => id));
    cursor = body.cursor;
  }
  return pages;
};

const ids = async (caller: Caller, query: string): Promise<string[]> =>
  (await pagesOf(caller, `/v1/tasks?${query}&`, 100)).flat();

/** The list follows the event log, which a request is in a moment later. */
const announced = (admin: Caller, count: number): Promise<void> =>
  eventually(async () => {
    const { events } = (await admin.call('GET', '/v1/events?type=task.requested&limit=500')).body;
    assert.equal(events.length, count);
  });

const requestMany = async (agent: TestAgent, count: number): Promise<string[]> => {
  const sent = Array.from({ length: count }, () => agent.request());
  return Promise.all(sent);
};

describe('the list of tasks', () => {
  it('has each of 60 tasks once, newest first, page by page', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const tim = await agent('tim');
    const sent: string[] = [];
    for (let count = 0; count < 60; count++) {
      sent.push(await tim.request());
      clock.advance(1);
    }
    await announced(admin, 60);
    const pages = await pagesOf(admin, '/v1/tasks?', 7);
    assert.deepEqual(pages.flat(), sent.toReversed());
    assert.deepEqual(
      pages.slice(0, 8).map(({ length }) => length),
      Array(8).fill(7),
    );
  });

  it('has the newest first also where the later of two was told of first', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const tim = await agent('tim');
    const later = await tim.request();
    await announced(admin, 1);
    clock.advance(-5);
    const earlier = await tim.request();
    await announced(admin, 2);
    assert.deepEqual(await ids(admin, ''), [later, earlier]);
  });

  it('can be that of one conversation, whatever dialect its tasks came in', async (t) => {
    const { agent, admin } = await testParley(t);
    const [cook, brain] = [
      await agent('cook', { dialect: 'task-format' }),
      await agent('brain', { dialect: 'agent-os' }),
    ];
    const said = (conversationId: string) => tfRequest({ context: { conversationId }, routing: { target: 'cook' } });
    const [mine, other] = [said('conv-1'), said('conv-2')];
    const boss = await agent('boss', { dialect: 'task-format' });
    for (const task of [mine, other]) assert.equal((await boss.send(task)).status, 202);
    const query = agentOsMessage('query', 'brain', 'cook');
    assert.equal((await brain.send(query)).status, 202);
    await announced(admin, 3);
    const wanted = [mine.id, canonicalId(query.id)].toSorted();
    assert.deepEqual((await ids(admin, 'conversation=conv-1')).toSorted(), wanted);
    assert.deepEqual(await ids(admin, 'conversation=conv-3'), []);
    assert.equal((await cook.task(mine.id)).conversationId, 'conv-1');
  });

  it('has each task once also where many came in the same millisecond', async (t) => {
    const { agent, admin } = await testParley(t);
    const sent = await requestMany(await agent('tim'), 60);
    await announced(admin, 60);
    const found = (await pagesOf(admin, '/v1/tasks?', 9)).flat();
    assert.deepEqual(found.toSorted(), sent.toSorted());
  });

  it('goes back over days', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const tim = await agent('tim');
    const sent: string[] = [];
    for (let day = 0; day < 5; day++) {
      sent.push(await tim.request({ ttl: 604_800 }));
      clock.advance(86_400_000);
    }
    await announced(admin, 5);
    assert.deepEqual((await pagesOf(admin, '/v1/tasks?', 2)).flat(), sent.toReversed());
  });

  it('names in its cursors no task that its reader may not see', async (t) => {
    const { agent, clock } = await testParley(t);
    const [tim, galahad, kay] = [await agent('tim'), await agent('galahad'), await agent('kay')];
    for (let count = 0; count < 4; count++) {
      await tim.request({ to: 'galahad' });
      clock.advance(1);
    }
    const claimed = await galahad.claim({ max: 4 });
    for (const { message } of claimed.slice(2)) await galahad.fail(message.id, { error: 'skill_missing' });
    for (const path of ['/v1/tasks?status=failed&limit=1', '/v1/tasks?agent=galahad&status=claimed&limit=1']) {
      const { tasks, cursor } = (await kay.call('GET', path)).body;
      assert.deepEqual(tasks, []);
      assert.match(cursor, /^(held:)?\d{14}#/);
      for (const { message } of claimed) assert.ok(!cursor.includes(message.id), cursor);
      assert.equal((await pagesOf(galahad, path.replace('limit=1', ''), 1)).flat().length, 2);
    }
  });

  it('does not lose its place while new tasks come', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const tim = await agent('tim');
    const sent = [await tim.request(), await tim.request(), await tim.request()];
    await announced(admin, 3);
    clock.advance(1);
    const { tasks, cursor } = (await admin.call('GET', '/v1/tasks?limit=1')).body;
    await tim.request();
    await announced(admin, 4);
    const rest = (await admin.call('GET', `/v1/tasks?limit=10&cursor=${encodeURIComponent(cursor)}`)).body.tasks;
    assert.deepEqual([...tasks, ...rest].map(({ id }) => id).sort(), sent.sort());
  });

  it('can be filtered by status, domain and agent, also together', async (t) => {
    const { agent, admin } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const kay = await agent('kay', { capabilities: ['home.scene'] });
    const done = await tim.request();
    const waiting = await tim.request();
    const home = await tim.request({ payload: { task: 'home.scene' } });
    const directed = await galahad.request({ to: 'kay' });
    const failed = await tim.request();
    const cancelled = await tim.request();
    await galahad.complete(done);
    await galahad.fail(failed, { error: 'invalid_params' });
    await tim.call('POST', `/v1/tasks/${cancelled}/cancel`);
    await announced(admin, 6);
    const found = async (query: string) => (await ids(admin, query)).sort();
    assert.deepEqual(await found('status=requested'), [waiting, home, directed].sort());
    assert.deepEqual(await found('status=completed'), [done]);
    assert.deepEqual(await found('status=failed'), [failed]);
    assert.deepEqual(await found('status=cancelled'), [cancelled]);
    assert.deepEqual(await found('domain=home'), [home]);
    assert.deepEqual(await found('agent=kay'), [directed]);
    assert.deepEqual(await found('agent=galahad'), [done, failed, directed].sort());
    assert.deepEqual(await found('status=requested&domain=security&agent=tim'), [waiting]);
    assert.deepEqual(await found('domain=nowhere'), []);
    assert.deepEqual(await found('agent=nobody'), []);
    assert.deepEqual((await ids(kay, '')).sort(), [home, directed].sort());
  });

  it('has what an agent holds at once, however much came since, and then what others hold for it', async (t) => {
    const { agent, admin } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const own = [await tim.request({ to: 'galahad' }), await tim.request({ to: 'galahad' })];
    await galahad.claim({ max: 2 });
    const theirs = await galahad.request({ to: 'tim' });
    await tim.claim({ max: 1 });
    await requestMany(tim, 60);
    await announced(admin, 63);
    const path = '/v1/tasks?agent=galahad&status=claimed';
    const { tasks } = (await admin.call('GET', `${path}&limit=2`)).body;
    assert.deepEqual(tasks.map(({ id }: { id: string }) => id).sort(), own.toSorted());
    for (const limit of [1, 2, 50]) {
      const found = (await pagesOf(admin, `${path}&`, limit)).flat();
      assert.deepEqual(found.toSorted(), [...own, theirs].toSorted());
    }
    await galahad.progress(String(own[0]));
    assert.deepEqual(await ids(admin, 'agent=galahad&status=in_progress'), [own[0]]);
    assert.equal((await admin.call('GET', `${path}&cursor=held:x`)).body.code, 'invalid_request');
  });

  it('finds the few that match among many that do not', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const tim = await agent('tim');
    await requestMany(tim, 30);
    clock.advance(1);
    const home = await tim.request({ payload: { task: 'home.scene' } });
    clock.advance(1);
    await requestMany(tim, 30);
    await announced(admin, 61);
    assert.deepEqual((await pagesOf(admin, '/v1/tasks?domain=home&', 5)).flat(), [home]);
  });

  it('goes on right behind the last that matched, wherever that was', async (t) => {
    const { agent, admin } = await testParley(t);
    const tim = await agent('tim');
    const home: string[] = [];
    for (let count = 0; count < 40; count++) {
      const isHome = count % 3 === 0;
      const id = await tim.request(isHome ? { payload: { task: 'home.scene' } } : {});
      if (isHome) home.push(id);
    }
    await announced(admin, 40);
    for (const limit of [1, 2, 3, 4]) {
      const pages = await pagesOf(admin, '/v1/tasks?domain=home&', limit);
      assert.deepEqual(pages.flat(), home.toReversed());
      assert.ok(
        pages.slice(0, -2).every(({ length }) => length === limit),
        JSON.stringify(pages),
      );
    }
  });

  it('gives up for now, with a cursor, where hundreds in a row do not match', async (t) => {
    const { agent, admin } = await testParley(t);
    const tim = await agent('tim');
    const home = await tim.request({ payload: { task: 'home.scene' } });
    await requestMany(tim, 450);
    await announced(admin, 451);
    const pages = await pagesOf(admin, '/v1/tasks?domain=home&', 10);
    assert.deepEqual(pages, [[], [home]]);
  });

  it('has a task that was run again once, in its old place', async (t) => {
    const { agent, admin } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const first = await tim.request();
    const second = await tim.request();
    await galahad.fail(first, { error: 'invalid_params' });
    await tim.call('POST', `/v1/tasks/${first}/retry`);
    await announced(admin, 3);
    assert.deepEqual(await ids(admin, ''), [second, first]);
  });

  it('has a task once whose id an earlier one had, in the place of the new one', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const request = taskRequest('tim');
    await tim.send(request);
    await galahad.complete(request.id);
    clock.advance(7 * 86_400_000);
    const other = await tim.request();
    assert.equal((await tim.send(request)).status, 202);
    // The log tells of it twice under one name, which a reader counts once.
    await announced(admin, 2);
    await eventually(async () => assert.deepEqual(await ids(admin, ''), [request.id, other]));
    assert.deepEqual((await pagesOf(admin, '/v1/tasks?', 1)).flat(), [request.id, other]);
  });

  it('has a task once on a page whose making was told twice', async (t) => {
    const { agent, admin } = await testParley(t, {
      through: (ports) => ({
        ...ports,
        events: {
          ...ports.events,
          publish: async (events) => {
            await ports.events.publish(events);
            await ports.events.publish(events);
          },
        },
      }),
    });
    const id = await (await agent('tim')).request();
    await announced(admin, 1);
    assert.deepEqual(await ids(admin, ''), [id]);
  });

  it('shows the dead letters, newest first, page by page', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const failed: string[] = [];
    for (let count = 0; count < 7; count++) {
      const id = await tim.request();
      await galahad.fail(id, { error: 'skill_missing' });
      failed.push(id);
      clock.advance(1);
    }
    await tim.request();
    assert.deepEqual((await pagesOf(admin, '/v1/dead?', 3)).flat(), failed.toReversed());
    assert.deepEqual((await pagesOf(admin, '/v1/tasks?status=failed&', 3)).flat(), failed.toReversed());
  });
});

describe('a task', () => {
  it('is answered as soon as it has ended to whoever waits for it', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    const waiting = tim.task(id, 25);
    await galahad.progress(id);
    await galahad.complete(id);
    assert.equal((await waiting).state, 'completed');
  });

  it('is answered as it is when the wait is over', async (t) => {
    const { agent, clock } = await testParley(t);
    const tim = await agent('tim');
    const id = await tim.request();
    const waiting = tim.task(id, 25);
    await tim.request();
    clock.advance(25_000);
    assert.equal((await waiting).state, 'requested');
  });

  it('tells its whole story', async (t) => {
    const { agent, clock } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    const act = async (done: Promise<unknown>) => {
      await done;
      clock.advance(1000);
    };
    clock.advance(1000);
    await act(galahad.claim());
    await act(galahad.progress(id, { percent: 60, message: 'Analyzed 3/5' }));
    await act(galahad.complete(id));
    await eventually(async () => {
      const { history } = await tim.task(id);
      assert.deepEqual(history, [
        { at: '2026-03-01T12:00:00.000Z', event: 'requested', agent: 'tim' },
        { at: '2026-03-01T12:00:01.000Z', event: 'claimed', attempt: 1, agent: 'galahad' },
        {
          at: '2026-03-01T12:00:02.000Z',
          event: 'progress',
          attempt: 1,
          agent: 'galahad',
          percent: 60,
          message: 'Analyzed 3/5',
        },
        { at: '2026-03-01T12:00:03.000Z', event: 'completed', attempt: 1, agent: 'galahad' },
      ]);
    });
  });
});
