import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { EventType } from '../../shared/ports/event-types.ts';
import type { ParleyEvent } from '../../shared/ports/events.ts';
import { rollUpStatistics } from '../../shared/statistics/roll-up.ts';
import { consumedWriteUnits } from '../support/consumed-units.ts';
import { TestClock } from '../support/test-clock.ts';
import { engineOn, startTable } from './worlds.ts';

const EVENTS_PER_CYCLE = 3;

interface Load {
  agents: number;
  /** On average, by the lots of `draw-roll-up.ts`. */
  changesPerRollUp: number;
  rollUpMs: number;
  /** Changes that are dispatched together. */
  batch: number;
  rollUps: number;
}
/** A thousand cycles in 18 minutes, whose changes are dispatched together. */
const BUSY = { changesPerRollUp: 1000, rollUpMs: 360_000, batch: 50, rollUps: 20 };
/** A cycle every ten minutes, each of whose changes is dispatched alone. */
const SPARSE = { agents: 5, changesPerRollUp: 204, rollUpMs: 68 * 600_000, batch: 1, rollUps: 5 };

const TYPES: EventType[] = ['task.requested', 'task.claimed', 'task.completed'];

/** Of a deployment with so many agents, who ask each other for ten capabilities. */
const buildEvents = ({ agents, batch }: Load, project: string, first: number, at: number): ParleyEvent[] =>
  Array.from({ length: batch }, (_, index) => {
    const number = first + index;
    const task = Math.floor(number / EVENTS_PER_CYCLE);
    const type = TYPES[number % EVENTS_PER_CYCLE] ?? 'task.failed';
    return {
      id: `task/t${task}:${number % EVENTS_PER_CYCLE}:${type}`,
      project,
      type,
      at,
      data: {
        taskId: `t${task}`,
        from: `agent-${task % agents}`,
        agent: `agent-${(task * 7 + 1) % agents}`,
        domain: 'security',
        capability: `security.c${task % 10}`,
        queuedMs: (task * 37) % 5000,
        tookMs: (task * 91) % 60_000,
      },
    };
  });

describe('statistics on AWS', () => {
  let table: Awaited<ReturnType<typeof startTable>>;
  before(async () => {
    table = await startTable();
  });
  after(async () => {
    table.dynamo.destroy();
    table.clients.sqs.destroy();
    await table.services.stop();
  });

  const meter = async (t: TestContext, name: string, load: Load): Promise<number> => {
    const clock = new TestClock();
    const units = consumedWriteUnits(table.dynamo);
    const engine = engineOn(table.services, table.clients, clock, name);
    const { records, events } = engine.ports;
    const deps = { records, events: { ...events }, clock, newId: () => crypto.randomUUID() };
    let spent = 0;
    const { rollUps, changesPerRollUp, rollUpMs, batch } = load;
    for (let count = 0; count < rollUps; count++) {
      for (let at = 0; at < changesPerRollUp; at += batch) {
        await events.publish(buildEvents(load, name, count * changesPerRollUp + at, clock.now()));
        clock.advance((rollUpMs * batch) / changesPerRollUp);
      }
      const begun = units.count();
      await rollUpStatistics(deps, name);
      spent += units.count() - begun;
    }
    const perCycle = spent / ((rollUps * changesPerRollUp) / EVENTS_PER_CYCLE);
    t.diagnostic(`${name}: ${perCycle.toFixed(3)} write units a cycle`);
    return perCycle;
  };

  it('take no more write units of a task cycle than docs/operations/costs.md says', async (t) => {
    const page = readFileSync(new URL('../../docs/operations/costs.md', import.meta.url), 'utf8');
    const told =
      /^\| statistics \|.* ([\d.]+) units a cycle between 5 agents, ([\d.]+) between 50, and ([\d.]+) where/m.exec(
        page,
      );
    const [few = 0, many = 0, sparse = 0] = (told ?? assert.fail()).slice(1).map(Number);
    assert.ok((await meter(t, 'few', { agents: 5, ...BUSY })) <= few);
    assert.ok((await meter(t, 'many', { agents: 50, ...BUSY })) <= many);
    assert.ok((await meter(t, 'sparse', SPARSE)) <= sparse);
  });
});
