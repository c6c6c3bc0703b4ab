import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testParley } from '../support/test-parley.ts';
import { announced, ids, pagesOf, requestMany } from './task-pages.ts';

describe('filtered task list', () => {
  it('filters tasks by status, domain and agent, also combined', async (t) => {
    const { agent, admin } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const homeWorker = await agent('home-worker', { capabilities: ['home.scene'] });
    const done = await requester.request();
    const waiting = await requester.request();
    const home = await requester.request({ payload: { task: 'home.scene' } });
    const directed = await worker.request({ to: 'home-worker' });
    const failed = await requester.request();
    const cancelled = await requester.request();
    await worker.complete(done);
    await worker.fail(failed, { error: 'invalid_params' });
    await requester.call('POST', `/v1/tasks/${cancelled}/cancel`);
    await announced(admin, 6);
    const found = async (query: string) => (await ids(admin, query)).sort();
    assert.deepEqual(await found('status=requested'), [waiting, home, directed].sort());
    assert.deepEqual(await found('status=completed'), [done]);
    assert.deepEqual(await found('status=failed'), [failed]);
    assert.deepEqual(await found('status=cancelled'), [cancelled]);
    assert.deepEqual(await found('domain=home'), [home]);
    assert.deepEqual(await found('agent=home-worker'), [directed]);
    assert.deepEqual(await found('agent=worker'), [done, failed, directed].sort());
    assert.deepEqual(await found('status=requested&domain=security&agent=requester'), [waiting]);
    assert.deepEqual(await found('domain=nowhere'), []);
    assert.deepEqual(await found('agent=nobody'), []);
    assert.deepEqual((await ids(homeWorker, '')).sort(), [home, directed].sort());
  });

  it('lists the tasks that an agent holds first, then those that others hold for it', async (t) => {
    const { agent, admin } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const own = [await requester.request({ to: 'worker' }), await requester.request({ to: 'worker' })];
    await worker.claim({ max: 2 });
    const theirs = await worker.request({ to: 'requester' });
    await requester.claim({ max: 1 });
    await requestMany(requester, 60);
    await announced(admin, 63);
    const path = '/v1/tasks?agent=worker&status=claimed';
    const { tasks } = (await admin.call('GET', `${path}&limit=2`)).body;
    assert.deepEqual(tasks.map(({ id }: { id: string }) => id).sort(), own.toSorted());
    for (const limit of [1, 2, 50]) {
      const found = (await pagesOf(admin, `${path}&`, limit)).flat();
      assert.deepEqual(found.toSorted(), [...own, theirs].toSorted());
    }
    await worker.progress(String(own[0]));
    assert.deepEqual(await ids(admin, 'agent=worker&status=in_progress'), [own[0]]);
    assert.equal((await admin.call('GET', `${path}&cursor=held:x`)).body.code, 'invalid_request');
  });

  it('finds the few matching tasks among many others', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const requester = await agent('requester');
    await requestMany(requester, 30);
    clock.advance(1);
    const home = await requester.request({ payload: { task: 'home.scene' } });
    clock.advance(1);
    await requestMany(requester, 30);
    await announced(admin, 61);
    assert.deepEqual((await pagesOf(admin, '/v1/tasks?domain=home&', 5)).flat(), [home]);
  });

  it('continues a filtered task list directly after the last matching task', async (t) => {
    const { agent, admin } = await testParley(t);
    const requester = await agent('requester');
    const home: string[] = [];
    for (let count = 0; count < 40; count++) {
      const isHome = count % 3 === 0;
      const id = await requester.request(isHome ? { payload: { task: 'home.scene' } } : {});
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

  it('returns an empty page with a cursor after hundreds of tasks that do not match', async (t) => {
    const { agent, admin } = await testParley(t);
    const requester = await agent('requester');
    const home = await requester.request({ payload: { task: 'home.scene' } });
    await requestMany(requester, 450);
    await announced(admin, 451);
    const pages = await pagesOf(admin, '/v1/tasks?domain=home&', 10);
    assert.deepEqual(pages, [[], [home]]);
  });
});
