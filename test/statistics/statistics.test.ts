import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import baseConfig from '../../parley.config.ts';
import { rollUpStatistics } from '../../shared/statistics/roll-up.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const COUNTS = ['submitted', 'claimed', 'completed', 'failed', 'retried', 'released', 'expired', 'cancelled'] as const;
type Counts = Partial<Record<(typeof COUNTS)[number] | `code:${string}`, number>>;

/** What the test knows to have happened, by series. */
class Model {
  readonly counts = new Map<string, Counts>([['total', {}]]);

  count(names: (keyof Counts)[], task: { capability: string; requester: string; holder?: string }): void {
    const { capability, requester, holder } = task;
    const series = [
      'total',
      `domain ${capability.split('.')[0]}`,
      `capability ${capability}`,
      `requester ${requester}`,
      ...(holder === undefined ? [] : [`holder ${holder}`, `pair ${requester} ${holder}`]),
    ];
    for (const one of series) {
      const counts = this.counts.get(one) ?? {};
      this.counts.set(one, counts);
      for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a series of the answer
const toCounts = (series: any): Counts => ({
  ...Object.fromEntries(COUNTS.flatMap((name) => (series[name] > 0 ? [[name, series[name]]] : []))),
  ...Object.fromEntries(Object.entries(series.failedByCode ?? {}).map(([code, count]) => [`code:${code}`, count])),
});

const DAY_MS = 86_400_000;
const LONG_LEASES = {
  ...baseConfig.tasks,
  leaseMs: 7 * DAY_MS,
  maxLeaseMs: 7 * DAY_MS,
  maxSilentWorkMs: 7 * DAY_MS,
  maxAttempts: 1000,
};

const BY = '&by=domain,capability,requester,holder,pair';

const readStatistics = async ({ admin }: Pick<TestParley, 'admin'>, query = '?window=24h&step=30m&limit=5') => {
  const { status, body } = await admin.call('GET', `/v1/stats${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
};

const readCounts = async (parley: TestParley): Promise<Map<string, Counts>> => {
  const body = await readStatistics(parley, `?window=2d&step=1h&limit=20${BY}`);
  const counts = new Map<string, Counts>([['total', toCounts(body.total)]]);
  for (const group of [body.domains, body.capabilities, body.requesters, body.holders, body.pairs].flat()) {
    const [dimension] = ['domain', 'capability'].filter((name) => name in group);
    const name = dimension
      ? `${dimension} ${group[dimension]}`
      : ['requester', 'holder'].filter((one) => one in group).length === 2
        ? `pair ${group.requester} ${group.holder}`
        : 'requester' in group
          ? `requester ${group.requester}`
          : `holder ${group.holder}`;
    counts.set(name, toCounts(group));
    const sum: Counts = {};
    for (const bucket of group.buckets)
      for (const [key, count] of Object.entries(toCounts(bucket)))
        sum[key as keyof Counts] = (sum[key as keyof Counts] ?? 0) + (count ?? 0);
    assert.deepEqual(sum, toCounts(group), `the buckets of ${name} sum up`);
  }
  return counts;
};

const CAPABILITIES = ['security.scan', 'home.dinner'];

const move = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('request' as const),
      by: fc.nat(1),
      capability: fc.constantFrom(...CAPABILITIES),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('claim' as const), by: fc.nat(1) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'complete' as const,
        'fail' as const,
        'break' as const,
        'cancel' as const,
        'release' as const,
      ),
      which: fc.nat(50),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('roll up' as const, 'repeat' as const, 'restart' as const) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1000, 60_000, 1_800_000) }),
  },
);

const ENDS = ['complete', 'fail', 'break', 'cancel', 'release'] as const;
const EACH_ONCE: (typeof move extends fc.Arbitrary<infer T> ? T : never)[] = [
  ...ENDS.flatMap(() => [
    { do: 'request' as const, by: 0, capability: 'security.scan' },
    { do: 'claim' as const, by: 1 },
  ]),
  { do: 'roll up' },
  ...ENDS.map((end) => ({ do: end, which: 0 })),
];

interface OpenTask {
  id: string;
  capability: string;
  requester: string;
  holder?: TestAgent;
}

describe('GET /v1/stats', () => {
  it('counts what happened to random tasks, whatever is rolled up, comes twice or is restarted', async (t) => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(move, { minLength: 10, maxLength: 40 }), async (moves) => {
        const parley = await testParley(t, { config: { tasks: LONG_LEASES } });
        const agents = [
          await parley.agent('tim', { capabilities: CAPABILITIES }),
          await parley.agent('gal', { capabilities: CAPABILITIES }),
        ];
        const model = new Model();
        const open: OpenTask[] = [];
        for (const step of moves) {
          const agent = agents['by' in step ? step.by : 0] as TestAgent;
          if (step.do === 'request') {
            const { capability } = step;
            const id = await agent.request({ payload: { task: capability }, ttl: 604_800 });
            open.push({ id, capability, requester: agent.id });
            model.count(['submitted'], { capability, requester: agent.id });
          } else if (step.do === 'claim') {
            for (const { message } of await agent.claim({ max: 1 })) {
              const task = open.find(({ id }) => id === message.id);
              if (!task) continue;
              task.holder = agent;
              model.count(['claimed'], { ...task, holder: agent.id });
            }
          } else if (step.do === 'roll up') await rollUpStatistics(parley.parley.deps, 'default', true);
          else if (step.do === 'repeat') {
            const { events } = await parley.parley.deps.events.read('default', { newestFirst: true, limit: 7 });
            await parley.parley.deps.events.publish(events);
          } else if (step.do === 'restart') await parley.restart();
          else if (step.do === 'wait') parley.clock.advance(step.ms);
          else if ('which' in step) {
            const held = open.filter(({ holder }) => holder !== undefined);
            const task = held[step.which % Math.max(1, held.length)];
            if (!task?.holder || (await task.holder.task(task.id)).metadata.agent !== task.holder.id) continue;
            const holder = task.holder.id;
            if (step.do === 'complete') {
              await task.holder.complete(task.id);
              model.count(['completed'], { ...task, holder });
            } else if (step.do === 'fail') {
              await task.holder.fail(task.id, { error: 'invalid_params', message: 'no' });
              model.count(['failed', 'code:invalid_params'], { ...task, holder });
            } else if (step.do === 'cancel') {
              await parley.admin.call('POST', `/v1/tasks/${task.id}/cancel`, {});
              model.count(['cancelled'], { ...task, holder });
            } else {
              const isRetry = step.do === 'break';
              if (isRetry) await task.holder.fail(task.id, { error: 'model_error', message: 'again' });
              else await parley.admin.call('POST', `/v1/tasks/${task.id}/release`, {});
              const { capability, requester } = task;
              model.count([isRetry ? 'retried' : 'released'], { capability, requester, ...(isRetry && { holder }) });
              delete task.holder;
              continue;
            }
            open.splice(open.indexOf(task), 1);
          }
        }
        await eventually(async () => {
          // What follows from a change may wait before it tries again.
          parley.clock.advance(50);
          assert.deepEqual(await readCounts(parley), model.counts);
        });
        for (const name of Object.keys(model.counts.get('total') ?? {})) seen.add(name);
      }),
      { numRuns: 15, endOnFailure: true, examples: [[EACH_ONCE]] },
    );
    assert.deepEqual([...seen].sort(), [...COUNTS.filter((name) => name !== 'expired'), 'code:invalid_params'].sort());
  });
});
