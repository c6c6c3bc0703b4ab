import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { rollUpStatistics } from '../../shared/statistics/roll-up.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

interface Count {
  value: number;
  isExact: boolean;
}

interface Queue {
  id: string;
  paused: boolean;
  waiting: Count;
  oldestWaitingSince?: string;
  inFlight: Count;
  waitingClaims?: number;
  recent?: { arrivals: number; claims: number };
  priorities: { priority: string; waiting: Count; oldestWaitingSince?: string }[];
}

const PRIORITIES = ['critical', 'high', 'normal', 'low'];
/** A task goes to the agent, to the capability that is declared, or to the domain. */
const DESTINATIONS = [
  { id: 'agent:worker', request: { to: 'worker' } },
  { id: 'capability:security.scan', request: { payload: { task: 'security.scan' } } },
  { id: 'domain:home', request: { payload: { task: 'home.dinner' }, domain: 'home' } },
];

const listQueues = async (caller: Pick<TestAgent, 'call'>, query = ''): Promise<Map<string, Queue>> => {
  const { status, body } = await caller.call('GET', `/v1/queues${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return new Map(body.queues.map((queue: Queue) => [queue.id, queue]));
};

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const requester = await parley.agent('requester', { capabilities: [] });
  const worker = await parley.agent('worker', { capabilities: ['security.scan', 'home.*'] });
  return { parley, requester, worker };
};

interface Asked {
  id: string;
  queue: string;
  priority: string;
}

/** What the tasks themselves say, one by one. */
const countByTasks = async ({ admin }: TestParley, asked: Asked[]) => {
  const counts = new Map<string, { waiting: number; inFlight: number; since?: string }>();
  for (const { id, queue, priority } of asked) {
    const { body: task } = await admin.call('GET', `/v1/tasks/${id}`);
    const isQueued = task.state === 'requested' && task.retryAt === undefined;
    for (const key of [queue, `${queue}/${priority}`]) {
      const count = counts.get(key) ?? { waiting: 0, inFlight: 0 };
      counts.set(key, count);
      if (isQueued) count.waiting += 1;
      if (['claimed', 'in_progress', 'input_required'].includes(task.state)) count.inFlight += 1;
    }
  }
  return counts;
};

const move = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('request' as const),
      to: fc.nat(DESTINATIONS.length - 1),
      priority: fc.constantFrom(...PRIORITIES),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('claim' as const), max: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('complete' as const, 'cancel' as const, 'release' as const, 'progress' as const),
      which: fc.nat(50),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1000, 700_000) }) },
);

describe('GET /v1/queues', () => {
  it('counts what waits and what is in flight as the tasks say it, whatever happened to them', async (t) => {
    const { parley, requester, worker } = await start(t);
    const asked: Asked[] = [];
    await fc.assert(
      fc.asyncProperty(fc.array(move, { minLength: 5, maxLength: 25 }), async (moves) => {
        for (const step of moves) {
          if (step.do === 'request') {
            const { id: queue = '', request } = DESTINATIONS[step.to] ?? {};
            const id = await requester.request({ ...request, priority: step.priority, ttl: 86_400 });
            asked.push({ id, queue, priority: step.priority });
          } else if (step.do === 'claim') await worker.claim({ max: step.max });
          else if (step.do === 'wait') parley.clock.advance(step.ms);
          else if (asked.length > 0) {
            const { id } = asked[step.which % asked.length] as Asked;
            if (step.do === 'complete') await worker.complete(id);
            else if (step.do === 'progress') await worker.progress(id);
            else await parley.admin.call('POST', `/v1/tasks/${id}/${step.do}`, {});
          }
        }
        await eventually(async () => {
          const queues = await listQueues(parley.admin);
          const counts = await countByTasks(parley, asked);
          for (const { id } of DESTINATIONS) {
            const { waiting = 0, inFlight = 0 } = counts.get(id) ?? {};
            const queue = queues.get(id);
            assert.deepEqual(
              [queue?.waiting, queue?.inFlight],
              [
                { value: waiting, isExact: true },
                { value: inFlight, isExact: true },
              ],
              id,
            );
            for (const { priority, waiting: own } of queue?.priorities ?? [])
              assert.equal(own.value, counts.get(`${id}/${priority}`)?.waiting ?? 0, `${id} ${priority}`);
          }
        });
      }),
      { numRuns: 12 },
    );
  });

  it('says since when the oldest waits, by priority', async (t) => {
    const { parley, requester, worker } = await start(t);
    const first = new Date(parley.clock.now()).toISOString();
    const id = await requester.request({ to: 'worker', priority: 'low' });
    parley.clock.advance(60_000);
    const second = new Date(parley.clock.now()).toISOString();
    await requester.request({ to: 'worker', priority: 'high' });
    const queue = (await listQueues(parley.admin)).get('agent:worker');
    assert.equal(queue?.oldestWaitingSince, first);
    assert.deepEqual(
      queue?.priorities.map(({ oldestWaitingSince }) => oldestWaitingSince),
      [undefined, second, undefined, first],
    );
    await parley.admin.call('POST', `/v1/tasks/${id}/cancel`, {});
    assert.equal((await listQueues(worker)).get('agent:worker')?.oldestWaitingSince, second);
  });

  it('counts exactly to 1,000, and marks what is more as an estimate', async (t) => {
    const { parley, requester } = await start(t);
    const ids: string[] = [];
    for (let n = 0; n < 1000; n++) ids.push(await requester.request({ to: 'worker' }));
    const read = async () => (await listQueues(parley.admin, '?agent=worker')).get('agent:worker')?.waiting;
    await parley.admin.call('POST', `/v1/tasks/${ids.pop()}/cancel`, {});
    assert.deepEqual(await read(), { value: 999, isExact: true });
    await requester.request({ to: 'worker' });
    assert.deepEqual(await read(), { value: 1001, isExact: false });
  });

  it('counts the same after a restart', async (t) => {
    const { parley, requester, worker } = await start(t);
    for (let n = 0; n < 5; n++) await requester.request({ to: 'worker' });
    await worker.claim({ max: 2 });
    await parley.restart();
    const queue = (await listQueues(parley.admin)).get('agent:worker');
    assert.deepEqual([queue?.waiting.value, queue?.inFlight.value], [3, 2]);
  });

  it('says how many claims wait, and whether the agent is paused', async (t) => {
    const { parley, worker } = await start(t);
    const waits = [worker.claim({ wait: 20 }), worker.claim({ wait: 20 })];
    await eventually(async () => {
      const queues = await listQueues(parley.admin);
      for (const id of ['agent:worker', 'capability:security.scan', 'domain:home'])
        assert.equal(queues.get(id)?.waitingClaims, 2, id);
      assert.equal(queues.get('agent:requester')?.waitingClaims, 0);
    });
    parley.clock.advance(20_000);
    await Promise.all(waits);
    assert.equal((await listQueues(parley.admin)).get('agent:worker')?.paused, false);
  });

  it('counts what came and what was claimed in the last minutes, and no longer', async (t) => {
    const { parley, requester, worker } = await start(t);
    const read = async () => {
      const queues = await listQueues(parley.admin);
      return DESTINATIONS.map(({ id }) => [queues.get(id)?.recent?.arrivals, queues.get(id)?.recent?.claims]);
    };
    for (const { request } of DESTINATIONS) await requester.request({ ...request, ttl: 86_400 });
    const [claimed] = await worker.claim({ max: 1 });
    assert.ok(claimed);
    await parley.admin.call('POST', `/v1/tasks/${claimed.message.id}/release`, {});
    await eventually(async () =>
      assert.deepEqual(await read(), [
        [2, 1],
        [1, 0],
        [1, 0],
      ]),
    );
    await rollUpStatistics(parley.parley.deps, 'default');
    parley.clock.advance(4 * 60_000);
    await requester.request({ ...DESTINATIONS[2]?.request, ttl: 86_400 });
    await eventually(async () =>
      assert.deepEqual(await read(), [
        [2, 1],
        [1, 0],
        [2, 0],
      ]),
    );
    parley.clock.advance(2 * 60_000);
    assert.deepEqual(await read(), [
      [0, 0],
      [0, 0],
      [1, 0],
    ]);
  });

  it('shows an agent the queues that it claims from, and an admin key all of them', async (t) => {
    const { parley, requester, worker } = await start(t);
    assert.deepEqual([...(await listQueues(requester)).keys()], ['agent:requester']);
    assert.deepEqual(
      [...(await listQueues(worker)).keys()],
      ['domain:home', 'capability:security.scan', 'agent:worker'],
    );
    assert.deepEqual([...(await listQueues(requester, '?agent=worker')).keys()], []);
    const all = [...(await listQueues(parley.admin)).keys()];
    assert.ok(all.includes('domain:security') && all.includes('agent:worker') && all.includes('agent:requester'));
  });

  it('filters and pages', async (t) => {
    const { parley } = await start(t);
    assert.deepEqual(
      [...(await listQueues(parley.admin, '?domain=security')).keys()],
      ['domain:security', 'capability:security.scan'],
    );
    assert.deepEqual(
      [...(await listQueues(parley.admin, '?capability=security.scan')).keys()],
      ['capability:security.scan'],
    );
    const ids = [...(await listQueues(parley.admin)).keys()];
    const paged: string[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await parley.admin.call('GET', `/v1/queues?limit=3${cursor}`);
      paged.push(...body.queues.map(({ id }: Queue) => id));
      if (body.cursor === undefined) break;
      cursor = `&cursor=${encodeURIComponent(body.cursor)}`;
    }
    assert.deepEqual(paged, ids);
    assert.equal((await parley.admin.call('GET', '/v1/queues?cursor=nonsense')).status, 400);
  });
});
