import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { isAgentState } from '../../shared/model/agent-state.ts';
import type { RecordChange } from '../../shared/ports/records.ts';
import { isLong, searchRuns } from '../support/scale.ts';
import type { Scene } from '../turns/agent-life.ts';
import { live, lives, shrunk } from '../turns/random-turns.ts';
import { type AwsWorld, startWorlds } from './worlds.ts';

/** Beside each other, so that none waits for another's answers. */
const WORLDS = 10;
const RUNS = isLong ? 1000 : 40;

const { worlds } = await startWorlds({ after }, WORLDS, 'head', 'turn');

const livesIn = async (world: AwsWorld, id: string, scenes: Scene[], schedule: fc.Scheduler): Promise<number> => {
  const turns = await live(world, id, scenes, schedule);
  assert.deepEqual(world.faults, []);
  return turns;
};

/** What is true of every single write to a head. */
const watch = ({ before, after }: RecordChange): void => {
  if (!before || !after || !isAgentState(before) || !isAgentState(after)) return;
  assert.ok(after.epoch >= before.epoch, `the epoch of ${after.agent} fell`);
  const isHandedOn = before.turn !== undefined && after.turn !== undefined && after.turn !== before.turn;
  assert.ok(!isHandedOn, `${after.agent} began ${after.turn} before ${before.turn} had ended`);
};

const latest = { which: 0, astray: 0 };

/** All that a worker does for a turn with one tool, from the call on. */
const WORK: Scene[] = [
  { moves: [{ do: 'enqueue', rank: 0 }] },
  { moves: [{ do: 'lease', leaseId: 'worker-1' }] },
  { moves: [{ do: 'start', ...latest }] },
  { moves: [{ do: 'step', ...latest, name: 1 }] },
  { moves: [{ do: 'suspend', ...latest, calls: [1] }] },
  { moves: [{ do: 'report', ...latest, call: 1, terminate: false }] },
  { moves: [{ do: 'lease', leaseId: 'worker-1' }] },
  { moves: [{ do: 'deliver', ...latest, name: 1 }] },
];

describe('a worker on DynamoDB', () => {
  it('that is killed after any of its calls leaves a turn that ends once', async () => {
    const schedules = fc.sample(fc.scheduler(), WORK.length);
    const lived = schedules.map((schedule, at) => {
      const world = worlds[at] ?? assert.fail('a world for each');
      return livesIn(world, 'merlin', WORK.slice(0, at + 1), schedule);
    });
    assert.deepEqual(await Promise.all(lived), Array(WORK.length).fill(1));
  });
});

describe('turns on DynamoDB, whatever happens in whatever order and at once', () => {
  it(`end once each, are held by one at a time, lose nothing and apply no report twice, in ${RUNS} lives`, {
    timeout: 900_000,
  }, async () => {
    let [runs, turns] = [0, 0];
    const liveIn = async (world: AwsWorld, at: number): Promise<void> => {
      world.onChange = watch;
      const lived = shrunk(async (scenes: Scene[], schedule: fc.Scheduler) => {
        const seen = await livesIn(world, `agent-${runs++}`, scenes, schedule);
        turns += seen;
      });
      const search = searchRuns(RUNS / WORLDS, RUNS / WORLDS, at + 1);
      await fc.assert(fc.asyncProperty(lives(15), fc.scheduler(), lived), search);
    };
    await Promise.all(worlds.map(liveIn));
    assert.equal(runs, RUNS);
    assert.ok(turns > RUNS, `there was something to see in ${turns} turns`);
  });
});
