import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testParley } from '../support/test-parley.ts';
import { announced, ids, pagesOf, requestMany } from './task-pages.ts';

describe('the list of tasks of one kind', () => {
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
});
