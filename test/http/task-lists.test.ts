import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toCanonicalId } from '../../shared/kernel/ids.ts';
import { agentOsMessage } from '../support/agent-os-agent.ts';
import { taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';
import { assertRefused } from './refusal.ts';
import { announced, ids, pagesOf, requestMany } from './task-pages.ts';

describe('task list', () => {
  it('lists each of 60 tasks once, newest first, in pages', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const requester = await agent('requester');
    const sent: string[] = [];
    for (let count = 0; count < 60; count++) {
      sent.push(await requester.request());
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

  it('lists the newest task first although the event of a later task came first', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const requester = await agent('requester');
    const later = await requester.request();
    await announced(admin, 1);
    clock.advance(-5);
    const earlier = await requester.request();
    await announced(admin, 2);
    assert.deepEqual(await ids(admin, ''), [later, earlier]);
  });

  it('lists the tasks of one conversation across dialects', async (t) => {
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

  it('lists each task once when many are created in the same millisecond', async (t) => {
    const { agent, admin } = await testParley(t);
    const sent = await requestMany(await agent('requester'), 60);
    await announced(admin, 60);
    const found = (await pagesOf(admin, '/v1/tasks?', 9)).flat();
    assert.deepEqual(found.toSorted(), sent.toSorted());
  });

  it('lists tasks across several days', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const requester = await agent('requester');
    const sent: string[] = [];
    for (let day = 0; day < 5; day++) {
      sent.push(await requester.request({ ttl: 604_800 }));
      clock.advance(86_400_000);
    }
    await announced(admin, 5);
    assert.deepEqual((await pagesOf(admin, '/v1/tasks?', 2)).flat(), sent.toReversed());
  });

  it('puts no task into a cursor that its reader may not read', async (t) => {
    const { agent, clock } = await testParley(t);
    const [requester, worker, reader] = [await agent('requester'), await agent('worker'), await agent('reader')];
    for (let count = 0; count < 4; count++) {
      await requester.request({ to: 'worker' });
      clock.advance(1);
    }
    const claimed = await worker.claim({ max: 4 });
    for (const { message } of claimed) await worker.fail(message.id, { error: 'skill_missing' });
    assert.deepEqual((await reader.call('GET', '/v1/dead-letters?limit=1&count=true')).body, {
      tasks: [],
      count: { value: 0, isExact: true },
    });
    const { cursor } = (await worker.call('GET', '/v1/dead-letters?limit=1')).body;
    assert.match(cursor, /^\d{14}#/);
    for (const { message } of claimed) assert.ok(!cursor.includes(message.id), cursor);
    assert.equal((await pagesOf(worker, '/v1/dead-letters?', 1)).flat().length, 4);
    const page = (await worker.call('GET', '/v1/tasks?limit=1')).body;
    for (const { message } of claimed) assert.ok(!page.cursor.includes(message.id), page.cursor);
  });

  it('lists expired tasks among the dead letters until they are retried', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const requester = await agent('requester');
    const id = await requester.request({ ttl: 5 });
    clock.advance(10_000);
    await eventually(async () => assert.deepEqual((await pagesOf(admin, '/v1/dead-letters?', 5)).flat(), [id]));
    assert.equal((await admin.call('GET', `/v1/tasks/${id}`)).body.deadLettered, true);
    assert.equal((await admin.call('POST', '/v1/dead-letters/retry')).body.results[0].status, 202);
    assert.deepEqual((await pagesOf(admin, '/v1/dead-letters?', 5)).flat(), []);
    const { count } = (await admin.call('GET', '/v1/dead-letters?count=true')).body;
    assert.deepEqual(count, { value: 0, isExact: true });
    assert.deepEqual(await ids(admin, 'status=requested'), [id]);
  });

  it('retries the newest dead letters that a filter matches, and no others', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const failed: Record<string, string[]> = { skill_missing: [], model_error: [] };
    for (const error of ['skill_missing', 'model_error', 'skill_missing']) {
      const id = await requester.request({ to: 'worker', payload: { retry: { maxAttempts: 1 } } });
      await worker.fail(id, { error, message: 'no', retryable: false });
      failed[error]?.push(id);
      clock.advance(1000);
    }
    const filter = { error: 'skill_missing', holder: 'worker' };
    const both = await admin.call('POST', '/v1/dead-letters/retry', { ids: failed.skill_missing, filter });
    assertRefused(both, 400, 'invalid_request');
    const { body } = await admin.call('POST', '/v1/dead-letters/retry', { filter: { error: 'skill_missing' }, max: 1 });
    assert.deepEqual(body.results, [{ id: failed.skill_missing?.[1], status: 202 }]);
    assert.deepEqual((await pagesOf(admin, '/v1/dead-letters?error=skill_missing&', 5)).flat(), [
      failed.skill_missing?.[0],
    ]);
    assert.deepEqual((await pagesOf(admin, '/v1/dead-letters?error=model_error&', 5)).flat(), failed.model_error);
    const { status } = await admin.call('GET', '/v1/dead-letters?status=completed');
    assert.equal(status, 400);
  });

  it('keeps the position of a task list cursor while new tasks are created', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const requester = await agent('requester');
    const sent = [await requester.request(), await requester.request(), await requester.request()];
    await announced(admin, 3);
    clock.advance(1);
    const { tasks, cursor } = (await admin.call('GET', '/v1/tasks?limit=1')).body;
    await requester.request();
    await announced(admin, 4);
    const rest = (await admin.call('GET', `/v1/tasks?limit=10&cursor=${encodeURIComponent(cursor)}`)).body.tasks;
    assert.deepEqual([...tasks, ...rest].map(({ id }) => id).sort(), sent.sort());
  });

  it('lists a retried task once, in its old position', async (t) => {
    const { agent, admin } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const first = await requester.request();
    const second = await requester.request();
    await worker.fail(first, { error: 'invalid_params' });
    await requester.call('POST', `/v1/tasks/${first}/retry`);
    await announced(admin, 3);
    assert.deepEqual(await ids(admin, ''), [second, first]);
  });

  it('lists a task that reuses an id once, in the position of the new task', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const request = taskRequest('requester');
    await requester.send(request);
    await worker.complete(request.id);
    clock.advance(7 * 86_400_000);
    const other = await requester.request();
    assert.equal((await requester.send(request)).status, 202);
    // The log has two events of one id, which a reader counts once.
    await announced(admin, 2);
    await eventually(async () => assert.deepEqual(await ids(admin, ''), [request.id, other]));
    assert.deepEqual((await pagesOf(admin, '/v1/tasks?', 1)).flat(), [request.id, other]);
  });

  it('lists a task once on a page when its event is in the log twice', async (t) => {
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
    const id = await (await agent('requester')).request();
    await announced(admin, 1);
    assert.deepEqual(await ids(admin, ''), [id]);
  });

  it('lists the dead letters, newest first, in pages', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const failed: string[] = [];
    for (let count = 0; count < 7; count++) {
      const id = await requester.request();
      await worker.fail(id, { error: 'skill_missing' });
      failed.push(id);
      clock.advance(1);
    }
    await requester.request();
    assert.deepEqual((await pagesOf(admin, '/v1/dead-letters?', 3)).flat(), failed.toReversed());
    assert.deepEqual((await pagesOf(admin, '/v1/tasks?status=failed&', 3)).flat(), failed.toReversed());
  });
});
