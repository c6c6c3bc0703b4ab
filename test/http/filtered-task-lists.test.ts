import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Caller } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { graphOf } from '../support/graphs.ts';
import { enqueued, groundAgent } from '../support/ground.ts';
import { tfRequest } from '../support/task-format.ts';
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

  it('lists what an agent holds, by itself or among all that concerns the agent', async (t) => {
    const { agent, admin } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const own = [await requester.request({ to: 'worker' }), await requester.request({ to: 'worker' })];
    await worker.claim({ max: 2 });
    const theirs = await worker.request({ to: 'requester' });
    await requester.claim({ max: 1 });
    await requestMany(requester, 60);
    for (const limit of [1, 2, 50]) {
      const held = (await pagesOf(admin, '/v1/tasks?holder=worker&status=claimed&', limit)).flat();
      assert.deepEqual(held.toSorted(), own.toSorted());
      const found = (await pagesOf(admin, '/v1/tasks?agent=worker&status=claimed&', limit)).flat();
      assert.deepEqual(found.toSorted(), [...own, theirs].toSorted());
    }
    await worker.progress(String(own[0]));
    assert.deepEqual(await ids(admin, 'holder=worker&status=in_progress'), [own[0]]);
    assert.equal((await admin.call('GET', '/v1/tasks?cursor=held:x')).body.code, 'invalid_request');
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

  it('finds the one match behind hundreds of others in one page, and so do the three of two filters', async (t) => {
    const { agent, admin } = await testParley(t);
    const [requester, other] = [await agent('requester'), await agent('other')];
    const home = await requester.request({ payload: { task: 'home.scene' } });
    const theirs = [await other.request({ priority: 'low' }), await other.request(), await other.request()];
    await requestMany(requester, 450);
    assert.deepEqual(await pagesOf(admin, '/v1/tasks?domain=home&', 10), [[home]]);
    const [page = []] = await pagesOf(admin, '/v1/tasks?domain=security&requester=other&', 10);
    assert.deepEqual(page.toSorted(), theirs.toSorted());
  });

  it('counts exactly up to 1,000, and says where there are more', async (t) => {
    const { agent, admin } = await testParley(t);
    const requester = await agent('requester');
    const count = async (query: string) => (await admin.call('GET', `/v1/tasks?limit=1&count=true${query}`)).body.count;
    await requestMany(requester, 999);
    const home = await requester.request({ payload: { task: 'home.scene' } });
    assert.deepEqual(await count(''), { value: 1000, isExact: true });
    await requestMany(requester, 1);
    assert.deepEqual(await count(''), { value: 1000, isExact: false });
    assert.deepEqual(await count('&domain=home'), { value: 1, isExact: true });
    await requester.call('POST', `/v1/tasks/${home}/cancel`);
    assert.deepEqual(await count('&status=cancelled,failed'), { value: 1, isExact: true });
    assert.equal((await admin.call('GET', '/v1/tasks')).body.count, undefined);
  });

  it('finds tasks that wait for a retry, those that wait for input, and those of an error', async (t) => {
    const { agent, admin } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const cook = await agent('cook', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    const again = await requester.request();
    await worker.fail(again, { error: 'model_error' });
    const dead = await requester.request();
    await worker.fail(dead, { error: 'skill_missing' });
    const asking = tfRequest({ routing: { source: 'requester', target: 'cook' } });
    assert.equal((await requester.send(asking)).status, 202);
    await cook.claim({ max: 1 });
    await cook.send({ id: asking.id, status: 'input_required', input: { prompt: 'how many?' } });
    assert.deepEqual(await ids(admin, 'retrying=true'), [again]);
    assert.deepEqual(await ids(admin, 'status=requested'), [again]);
    assert.deepEqual(await ids(admin, 'waits=true'), [asking.id]);
    assert.deepEqual(await ids(admin, 'error=skill_missing'), [dead]);
    assert.deepEqual(await ids(admin, `idPrefix=${asking.id.slice(0, 20)}`), [asking.id]);
    assert.deepEqual(await ids(admin, 'type=security.briefing'), [dead, again]);
    assert.deepEqual(await ids(admin, 'holder=cook'), [asking.id]);
  });

  it('finds tasks by the time of their creation', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const requester = await agent('requester');
    const sent: { id: string; at: string }[] = [];
    for (let count = 0; count < 4; count++) {
      sent.push({ id: await requester.request(), at: new Date(clock.now()).toISOString() });
      clock.advance(1000);
    }
    const [, second, third] = sent;
    assert.deepEqual(await ids(admin, `since=${second?.at}&until=${third?.at}`), [second?.id]);
    assert.deepEqual((await ids(admin, `since=${third?.at}`)).length, 2);
    for (const wrong of ['since=yesterday', 'status=done', 'status=', 'retrying=false', 'count=1', 'holder='])
      assert.equal((await admin.call('GET', `/v1/tasks?${wrong}`)).status, 400, wrong);
  });

  it('shows an agent its own tasks and those that it could claim, of any filter, and counts no others', async (t) => {
    const { agent, admin } = await testParley(t);
    const [requester, other] = [await agent('requester'), await agent('other', { capabilities: ['home.scene'] })];
    const home = await requester.request({ payload: { task: 'home.scene' } });
    const own = await other.request();
    await requestMany(requester, 30);
    assert.deepEqual((await ids(other, '')).toSorted(), [home, own].toSorted());
    assert.deepEqual((await other.call('GET', '/v1/tasks?count=true')).body.count, { value: 2, isExact: true });
    assert.deepEqual(await ids(other, 'requester=requester'), [home]);
    await requester.call('POST', `/v1/tasks/${home}/cancel`);
    assert.deepEqual(await ids(other, ''), [own]);
    assert.equal((await ids(admin, '')).length, 32);
  });

  it('finds the same after a restart', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const home = await requester.request({ payload: { task: 'home.scene' } });
    await requestMany(requester, 20);
    await requester.call('POST', `/v1/tasks/${home}/cancel`);
    await parley.restart();
    assert.deepEqual(await ids(parley.admin, 'status=cancelled'), [home]);
    assert.deepEqual((await ids(parley.admin, '')).length, 21);
  });
});

describe('lists of batches, graphs and turns', () => {
  it('have them by status and requester, newest first, for their requester and admin keys', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const [boss, other] = [await agent('boss', { dialect: 'task-format' }), await agent('other')];
    const cook = await agent('cook', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    const batchIds: string[] = [];
    for (let count = 0; count < 3; count++) {
      const tasks = [tfRequest({ routing: { source: 'boss', target: 'cook' } })];
      const { status, body } = await boss.call('POST', '/v1/batches', { tasks });
      assert.equal(status, 202);
      batchIds.unshift(body.batchId);
      clock.advance(1);
    }
    const [claimed] = await cook.claim({ max: 1 });
    await cook.send({ id: claimed.message.id, status: 'completed', result: 1 });
    const batches = async (caller: Caller, query: string): Promise<string[]> =>
      (await caller.call('GET', `/v1/batches?${query}`)).body.batches.map(
        ({ batchId }: { batchId: string }) => batchId,
      );
    assert.deepEqual(await batches(admin, ''), batchIds);
    assert.deepEqual(await batches(boss, 'requester=boss'), batchIds);
    assert.deepEqual(await batches(other, ''), []);
    await eventually(async () => assert.deepEqual(await batches(admin, 'status=success,partial'), batchIds.slice(2)));
    assert.deepEqual(await batches(admin, 'status=open'), batchIds.slice(0, 2));

    const [one, two] = [graphOf({ soup: [] }), graphOf({ soup: [] })];
    for (const { graph } of [one, two]) {
      assert.equal((await boss.call('POST', '/v1/graphs', graph)).status, 202);
      clock.advance(1);
    }
    await boss.call('POST', `/v1/graphs/${one.graph.graphId}/cancel`);
    const graphs = async (caller: Caller, query: string): Promise<string[]> =>
      (await caller.call('GET', `/v1/graphs?${query}`)).body.graphs.map(({ graphId }: { graphId: string }) => graphId);
    assert.deepEqual(await graphs(admin, ''), [two.graph.graphId, one.graph.graphId]);
    assert.deepEqual(await graphs(boss, `conversation=${two.graph.conversationId}`), [two.graph.graphId]);
    assert.deepEqual(await graphs(other, ''), []);
    await eventually(async () => assert.deepEqual(await graphs(admin, 'status=cancelled'), [one.graph.graphId]));
    const { count } = (await admin.call('GET', '/v1/graphs?status=in_progress&count=true')).body;
    assert.deepEqual(count, { value: 1, isExact: true });
  });

  it('have the turns of the channels that an agent may use', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { channels: ['public', 't_inner'] });
    const other = await parley.agent('other');
    await groundAgent(parley, 'executor', { channels: ['public', 't_inner'] });
    const inner = await enqueued(requester, 'executor', { channel_id: 't_inner' });
    const open = await enqueued(requester, 'executor', { channel_id: 'public' });
    const turns = async (caller: Caller, query: string): Promise<string[]> =>
      (await caller.call('GET', `/v1/turns?${query}`)).body.turns.map(
        (turn: { agent_turn_id: string }) => turn.agent_turn_id,
      );
    assert.deepEqual((await turns(requester, 'agent=executor')).toSorted(), [inner, open].toSorted());
    assert.deepEqual(await turns(other, ''), [open]);
    assert.deepEqual(await turns(parley.admin, 'channel=t_inner&status=queued'), [inner]);
    assert.deepEqual(await turns(parley.admin, 'status=success,failed'), []);
  });
});
