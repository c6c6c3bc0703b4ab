import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toCanonicalId } from '../../shared/kernel/ids.ts';
import { agentOsMessage } from '../support/agent-os-agent.ts';
import { taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';
import { announced, ids, pagesOf, requestMany } from './task-pages.ts';

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
    const wanted = [mine.id, toCanonicalId(query.id)].toSorted();
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
      wrapPorts: (ports) => ({
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
    assert.deepEqual((await pagesOf(admin, '/v1/dead-letters?', 3)).flat(), failed.toReversed());
    assert.deepEqual((await pagesOf(admin, '/v1/tasks?status=failed&', 3)).flat(), failed.toReversed());
  });
});
