import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { EventType } from '../../shared/ports/event-types.ts';
import type { ParleyEvent } from '../../shared/ports/events.ts';
import { readStatistics } from '../../shared/statistics/read-statistics.ts';
import { rollUpStatistics, type StatisticsDeps } from '../../shared/statistics/roll-up.ts';
import type { Dimension } from '../../shared/statistics/series.ts';
import { type EngineUnderTest, type Open, token, unique } from './engine-under-test.ts';

const HOUR_MS = 3_600_000;

/** As another process has it, which remembers nothing of what this one counted. */
const openProcess = (engine: EngineUnderTest): StatisticsDeps => ({
  records: engine.ports.records,
  events: { ...engine.ports.events },
  clock: { now: engine.now, setAlarm: () => () => {} },
  newId: token,
});

const buildEvent = (project: string, number: number, at: number, data: object = {}): ParleyEvent => {
  const type: EventType = (['task.requested', 'task.claimed', 'task.completed'] as const)[number % 3] ?? 'task.failed';
  return {
    id: `t${number}:1:${type}`,
    project,
    type,
    at,
    data: { from: 'tim', domain: 'security', capability: 'security.scan', queuedMs: 100, tookMs: 1000, ...data },
  };
};

const readCounts = async (deps: StatisticsDeps, project: string, stepMs: number, by: Dimension[] = []) => {
  const until = (Math.floor(deps.clock.now() / stepMs) + 1) * stepMs;
  return await readStatistics(deps, project, { from: until - 48 * HOUR_MS, until, stepMs, by });
};

const move = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('publish' as const), count: fc.integer({ min: 50, max: 350 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('repeat' as const),
      from: fc.nat(200),
      count: fc.integer({ min: 1, max: 30 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('roll up' as const), processes: fc.integer({ min: 1, max: 3 }) }),
  },
);

export const statisticsContract = (name: string, open: Open): void => {
  describe(`statistics on ${name}`, () => {
    it('count each event once, whoever counts it, at the same time as others, and however late it comes again', async (t) => {
      const engine = await open(t);
      const first = openProcess(engine);
      await fc.assert(
        fc.asyncProperty(fc.array(move, { minLength: 6, maxLength: 14 }), async (moves) => {
          const project = unique('p');
          const published: ParleyEvent[] = [];
          const startedAt = engine.now();
          for (const step of moves) {
            if (step.do === 'publish') {
              const more = Array.from({ length: step.count }, (_, at) =>
                buildEvent(project, published.length + at, startedAt - HOUR_MS + (published.length + at) * 1000),
              );
              published.push(...more);
              await engine.ports.events.publish(more);
            } else if (step.do === 'repeat') {
              const again = published.slice(step.from, step.from + step.count);
              if (again.length > 0) await engine.ports.events.publish(again);
            } else {
              const others = Array.from({ length: step.processes - 1 }, () => openProcess(engine));
              await Promise.all([first, ...others].map((deps) => rollUpStatistics(deps, project, true)));
            }
          }
          const expected = { submitted: 0, claimed: 0, completed: 0 };
          for (const { type } of published)
            expected[type === 'task.requested' ? 'submitted' : type === 'task.claimed' ? 'claimed' : 'completed'] += 1;
          for (const stepMs of [60_000, HOUR_MS]) {
            const { total } = await readCounts(openProcess(engine), project, stepMs);
            const { submitted = 0, claimed = 0, completed = 0 } = total.sum.counts;
            assert.deepEqual({ submitted, claimed, completed }, expected, `in steps of ${stepMs} ms`);
          }
        }),
        { numRuns: 8, endOnFailure: true },
      );
    });

    it('are counted once by two processes of which one is overtaken at any step', async (t) => {
      const engine = await open(t);
      for (const overtakenAt of [1, 2, 3, 4]) {
        const project = unique('p');
        const events = Array.from({ length: 30 }, (_, number) => buildEvent(project, number, engine.now()));
        const fast = openProcess(engine);
        await engine.ports.events.publish(events.slice(0, 3));
        await rollUpStatistics(fast, project, true);
        await engine.ports.events.publish(events.slice(3));
        const slow = openProcess(engine);
        let reads = 0;
        const get: StatisticsDeps['records']['get'] = async (ref) => {
          reads += 1;
          if (reads === overtakenAt) await rollUpStatistics(fast, project, true);
          return await engine.ports.records.get(ref);
        };
        await rollUpStatistics({ ...slow, records: { ...slow.records, get } }, project, true);
        const { total } = await readCounts(fast, project, HOUR_MS);
        assert.deepEqual([total.sum.counts.submitted, total.sum.counts.completed], [10, 10], `at read ${overtakenAt}`);
      }
    });

    it('put what is too much for a dimension into one series, and lose none of it', async (t) => {
      const engine = await open(t);
      const deps = openProcess(engine);
      const project = unique('p');
      const events = Array.from({ length: 180 }, (_, number) =>
        buildEvent(project, number, engine.now(), { capability: `security.c${Math.floor(number / 3)}` }),
      );
      await engine.ports.events.publish(events.slice(0, 90));
      await rollUpStatistics(deps, project, true);
      await engine.ports.events.publish(events.slice(90, 165));
      await rollUpStatistics(deps, project, true);
      await engine.ports.events.publish(events.slice(165));
      const { groups, total } = await readCounts(deps, project, HOUR_MS, ['capability']);
      const series = groups.get('capability') ?? [];
      assert.equal(series.length, 51);
      assert.equal(series.at(-1)?.name, undefined);
      assert.equal(series.at(-1)?.sum.counts.claimed, 10);
      assert.equal(
        series.reduce((sum, one) => sum + (one.sum.counts.claimed ?? 0), 0),
        60,
      );
      assert.equal(total.sum.counts.claimed, 60);
    });
  });
};
