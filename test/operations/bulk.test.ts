import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ParleyError } from '../../shared/kernel/errors.ts';
import type { Change } from '../../shared/ports/conditions.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import type { Caller, TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { inTurns } from '../support/in-turns.ts';
import type { TestClock } from '../support/test-clock.ts';
import { testParley } from '../support/test-parley.ts';

const startOperation = async (caller: Caller, kind: 'cancel' | 'retry', body: object): Promise<string> => {
  const reply = await caller.call('POST', `/v1/tasks/${kind}`, body);
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  return reply.body.operationId;
};

/** Its pages follow each other a moment later. */
// biome-ignore lint/suspicious/noExplicitAny: as in Reply
const endOf = async (caller: Caller, id: string, clock: TestClock): Promise<any> => {
  for (;;) {
    clock.advance(1);
    await turn();
    const { status, body } = await caller.call('GET', `/v1/operations/${id}`);
    assert.equal(status, 200, JSON.stringify(body));
    if (body.endedAt !== undefined) return body;
  }
};

const countOf = async (caller: Caller, query: string): Promise<number> =>
  (await caller.call('GET', `/v1/tasks?count=true&${query}`)).body.count.value;

const requestMany = (requester: TestAgent, count: number, overrides: Parameters<typeof taskRequest>[1] = {}) =>
  inTurns(Array.from({ length: count }), () => requester.request(overrides));

const failAll = async (worker: TestAgent, count: number): Promise<void> => {
  for (let left = count; left > 0; ) {
    const claimed = await worker.claim({ max: 10 });
    left -= claimed.length;
    await Promise.all(claimed.map(({ message }) => worker.fail(message.id, { error: 'skill_missing', message: 'no' })));
  }
};

describe('bulk cancellation', () => {
  it('cancels what the filter matches, page by page, and says how many, why and by whom', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const requester = await agent('requester');
    const other = await requester.request({ payload: { task: 'home.scene' } });
    await requestMany(requester, 230);
    const id = await startOperation(admin, 'cancel', { filter: { type: 'security.briefing' }, reason: 'wrong data' });
    const ended = await endOf(admin, id, clock);
    assert.partialDeepStrictEqual(ended, {
      ...{ kind: 'cancel', status: 'completed', by: 'admin', reason: 'wrong data' },
      ...{ expected: { value: 230, isExact: true }, changed: 230, skipped: 0, failed: 0, failures: [] },
      filter: { type: 'security.briefing' },
    });
    assert.equal(await countOf(admin, 'status=cancelled'), 230);
    assert.equal((await requester.task(other)).state, 'requested');
    const [{ id: cancelled }] = (await admin.call('GET', '/v1/tasks?status=cancelled&limit=1')).body.tasks;
    const task = await requester.task(cancelled);
    assert.partialDeepStrictEqual(task, { cancelledBy: 'admin', cancelReason: 'wrong data', operationId: id });
    assert.equal(task.history.at(-1).message, 'wrong data');
    const events = (await admin.call('GET', '/v1/events?type=operation.*')).body.events;
    assert.deepEqual(
      events.map(({ type, data }: { type: string; data: object }) => [type, 'changed' in data && data.changed]),
      [
        ['operation.started', false],
        ['operation.ended', 230],
      ],
    );
    const listed = (await admin.call('GET', '/v1/operations?status=completed&kind=cancel&count=true')).body;
    assert.deepEqual([listed.count.value, listed.operations[0].operationId], [1, id]);
  });

  it('changes nothing with dryRun, and shows how many tasks there are and some of them', async (t) => {
    const { agent, admin } = await testParley(t);
    const requester = await agent('requester');
    await requestMany(requester, 12);
    const wanted = { filter: { requester: 'requester' }, dryRun: true };
    const { status, body } = await admin.call('POST', '/v1/tasks/cancel', wanted);
    assert.deepEqual([status, body.count, body.sample.length], [200, { value: 12, isExact: true }, 10]);
    assert.equal(await countOf(admin, 'status=requested'), 12);
    assert.deepEqual((await admin.call('GET', '/v1/operations')).body.operations, []);
  });

  it('by an agent reaches only tasks that it requested, and is seen by it alone', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const [requester, other] = [await agent('requester'), await agent('other')];
    const [own, foreign] = [await requester.request(), await other.request()];
    const wanted = { filter: { type: 'security.briefing' } };
    assert.equal((await requester.call('POST', '/v1/tasks/cancel', { ...wanted, dryRun: true })).body.count.value, 1);
    const id = await startOperation(requester, 'cancel', wanted);
    assert.partialDeepStrictEqual(await endOf(requester, id, clock), { by: 'requester', changed: 1 });
    assert.equal((await requester.task(own)).state, 'cancelled');
    assert.equal((await other.task(foreign)).state, 'requested');
    assert.equal((await other.call('GET', `/v1/operations/${id}`)).status, 404);
    assert.deepEqual((await other.call('GET', '/v1/operations')).body.operations, []);
    const told = (await other.call('GET', '/v1/events?type=operation.*')).body.events;
    assert.deepEqual(told, []);
    assert.equal((await admin.call('GET', `/v1/operations/${id}`)).status, 200);
  });

  it('leaves alone what no longer matches when its turn comes, and what was created after its start', async (t) => {
    const [gate, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const hold = (): Promise<void> => {
      begun.resolve();
      return gate.promise;
    };
    const parley = await testParley(t, { wrapPorts: heldWrites(isTaskChange, hold) });
    const requester = await parley.agent('requester');
    const worker = await parley.agent('worker');
    const first = await requester.request({ to: 'worker' });
    await requestMany(requester, 4);
    parley.clock.advance(1);
    const id = await startOperation(parley.admin, 'cancel', { filter: { status: ['requested'] } });
    await begun.promise;
    parley.clock.advance(1);
    const late = await requester.request();
    assert.equal((await worker.claim({ max: 1 }))[0].message.id, first);
    gate.resolve();
    assert.partialDeepStrictEqual(await endOf(parley.admin, id, parley.clock), { changed: 4, skipped: 1 });
    assert.equal((await requester.task(first)).state, 'claimed');
    assert.equal((await requester.task(late)).state, 'requested');
  });

  it('refuses an empty filter, and statuses that cannot be cancelled or retried', async (t) => {
    const { admin } = await testParley(t);
    for (const [kind, body] of [
      ['cancel', {}],
      ['cancel', { filter: {} }],
      ['cancel', { filter: { status: ['completed'] } }],
      ['retry', { filter: { status: ['failed', 'requested'] } }],
      ['cancel', { filter: { type: 'x', colour: 'red' } }],
      ['cancel', { filter: { type: 'x' }, reason: '' }],
    ] as const) {
      const reply = await admin.call('POST', `/v1/tasks/${kind}`, body);
      assert.deepEqual([reply.status, reply.body.code], [400, 'invalid_request'], JSON.stringify(body));
    }
  });
});

describe('bulk retry', () => {
  it('runs again what failed or expired, and tells what cannot run again', async (t) => {
    const parley = await testParley(t);
    const { agent, admin, clock } = parley;
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    await requestMany(requester, 120);
    await failAll(worker, 120);
    await agent('guest', { capabilities: [] });
    const lost = await requester.request({ to: 'guest', payload: { timeout: 1 } });
    await requestMany(requester, 3, { payload: { timeout: 1 } });
    clock.advance(24 * 3600_000);
    await eventually(async () => assert.equal(await countOf(admin, 'status=expired'), 4));
    assert.equal((await admin.call('DELETE', '/v1/agents/guest')).status, 204);
    const id = await startOperation(admin, 'retry', { filter: { requester: 'requester' }, reason: 'fixed' });
    const ended = await endOf(admin, id, clock);
    assert.partialDeepStrictEqual(ended, { status: 'completed', expected: { value: 124 }, changed: 123, failed: 1 });
    assert.deepEqual([ended.failures[0].taskId, ended.failures[0].code], [lost, 'unknown_agent']);
    assert.equal(await countOf(admin, 'status=requested'), 123);
    const [{ id: retried }] = (await admin.call('GET', '/v1/tasks?status=requested&limit=1')).body.tasks;
    const { retryReason, history } = await requester.task(retried);
    assert.deepEqual([retryReason, history.at(-1).message], ['fixed', 'fixed']);
  });
});

/** Every such write waits for `before`. */
const heldWrites =
  (isMeant: (pk: string, change: Change) => boolean, before: () => unknown) =>
  (ports: Ports): Ports => ({
    ...ports,
    records: {
      ...ports.records,
      update: async (ref, change, ...more) => {
        if (isMeant(ref.pk, change)) await before();
        return ports.records.update(ref, change, ...more);
      },
    },
  });

const isTaskChange = (pk: string, { set = {} }: Change): boolean =>
  pk.includes('#task#') && set.operationId !== undefined;
const isPageEnd = (pk: string, { add = {} }: Change): boolean => pk.includes('#operation#') && 'changed' in add;

describe('a bulk operation that is stopped', () => {
  it('finishes its page, changes no other, and is stopped twice as once', async (t) => {
    const [gate, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const hold = (): Promise<void> => {
      begun.resolve();
      return gate.promise;
    };
    const { agent, admin, clock } = await testParley(t, { wrapPorts: heldWrites(isTaskChange, hold) });
    const requester = await agent('requester');
    await requestMany(requester, 150);
    const id = await startOperation(admin, 'cancel', { filter: { requester: 'requester' } });
    await begun.promise;
    for (let times = 0; times < 2; times++) {
      const { status, body } = await admin.call('POST', `/v1/operations/${id}/stop`);
      assert.deepEqual([status, body.status], [200, 'stopping']);
    }
    gate.resolve();
    assert.partialDeepStrictEqual(await endOf(admin, id, clock), {
      status: 'stopped',
      changed: 100,
      stoppedBy: 'admin',
    });
    assert.equal(await countOf(admin, 'status=requested'), 50);
    assert.equal((await admin.call('POST', `/v1/operations/${id}/stop`)).body.status, 'stopped');
    assert.equal((await admin.call('POST', '/v1/operations/none/stop')).status, 404);
  });

  it('counts the part of its page that was changed before a crash', async (t) => {
    let isBroken = true;
    const crash = (): void => {
      if (isBroken) throw new ParleyError('conflict', 'as the test wanted it');
    };
    const parley = await testParley(t, { wrapPorts: heldWrites(isPageEnd, crash) });
    const { admin, clock } = parley;
    await requestMany(await parley.agent('requester'), 150);
    const id = await startOperation(admin, 'cancel', { filter: { requester: 'requester' } });
    await eventually(() => assert.ok(parley.logged.includes('warn timer handler failed')));
    assert.equal((await admin.call('POST', `/v1/operations/${id}/stop`)).body.status, 'stopping');
    isBroken = false;
    clock.advance(1000);
    assert.partialDeepStrictEqual(await endOf(admin, id, clock), { status: 'stopped', changed: 100 });
    assert.equal(await countOf(admin, 'status=cancelled'), 100);
  });
});

describe('a bulk operation whose pages are repeated', () => {
  for (const kind of ['cancel', 'retry'] as const) {
    it(`changes each task once and counts it once (${kind})`, async (t) => {
      let failures = 0;
      const crash = (): void => {
        if (failures++ % 2 === 0) throw new ParleyError('conflict', 'as the test wanted it');
      };
      const parley = await testParley(t, { wrapPorts: heldWrites(isPageEnd, crash) });
      const { admin, clock } = parley;
      const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
      await requestMany(requester, 230);
      if (kind === 'retry') await failAll(worker, 230);
      const id = await startOperation(admin, kind, { filter: { requester: 'requester' } });
      await eventually(async () => {
        clock.advance(1000);
        const { body } = await admin.call('GET', `/v1/operations/${id}`);
        assert.partialDeepStrictEqual(body, { status: 'completed', changed: 230, skipped: 0, failed: 0 });
      });
      assert.ok(failures >= 6);
      const [{ id: one }] = (await admin.call('GET', '/v1/tasks?limit=1')).body.tasks;
      const { history } = await requester.task(one);
      const expected = kind === 'retry' ? ['requested', 'claimed', 'failed', 'requested'] : ['requested', 'cancelled'];
      assert.deepEqual(
        history.map(({ event }: { event: string }) => event),
        expected,
      );
    });
  }
});
