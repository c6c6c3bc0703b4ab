import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { register } from '../../shared/agents/register.ts';
import type { RecordChange } from '../../shared/ports/records.ts';
import { isHead } from '../../shared/turns/head.ts';
import { lives, Story } from '../turns/random-turns.ts';
import { type AwsWorld, startWorlds } from './worlds.ts';

const RUNS = 1000;
/** Beside each other, so that none waits for another's answers. */
const WORLDS = 10;

const { worlds } = await startWorlds({ after }, WORLDS, 'head', 'turn');

type Moves = Parameters<Story['play']>[0][];

/** One life of one agent, and every turn of it told once. */
const live = async (world: AwsWorld, id: string, groups: Moves): Promise<number> => {
  const { deps, project } = world;
  const { events } = deps;
  const before = await events.end(project);
  await register(deps, project, id, { dialect: 'common-ground', capabilities: [], via: 'http' });
  const known = await deps.directory.agent(project, id);
  assert.ok(known);
  const story = new Story(world, known);
  for (const group of groups) await story.play(group);
  await story.drain();
  await world.settled();
  assert.deepEqual(world.faults, []);
  await story.check();
  const page = await events.read(project, { types: ['evt.agent.task'], after: before, limit: 500 });
  // The same event may be told twice, but never two of one turn.
  const told = new Map(page.events.map(({ data: { payload } }) => [JSON.stringify(payload), Object(payload)]));
  assert.deepEqual([...told.values()].map((payload) => payload.agent_turn_id).toSorted(), story.turns.toSorted());
  return story.turns.length;
};

/** What is true of every single write to a head. */
const watch = ({ before, after }: RecordChange): void => {
  if (!before || !after || !isHead(before) || !isHead(after)) return;
  assert.ok(after.epoch >= before.epoch, `the epoch of ${after.agent} fell`);
  const isHandedOn = before.turn !== undefined && after.turn !== undefined && after.turn !== before.turn;
  assert.ok(!isHandedOn, `${after.agent} began ${after.turn} before ${before.turn} had ended`);
};

/** All that a worker does for a turn with one tool, from the call on. */
const WORK: Moves = [
  [{ do: 'enqueue' }],
  [{ do: 'lease', leaseId: 'worker-1' }],
  [{ do: 'start', which: 0 }],
  [{ do: 'step', which: 0 }],
  [{ do: 'suspend', which: 0, calls: [1] }],
  [{ do: 'reportAll' }],
  [{ do: 'lease', leaseId: 'worker-1' }],
  [{ do: 'deliver', which: 0 }],
];

describe('a worker on DynamoDB', () => {
  it('that is killed after any of its calls leaves a turn that ends once', async () => {
    const lived = worlds.slice(0, WORK.length).map((world, at) => live(world, 'merlin', WORK.slice(0, at + 1)));
    assert.deepEqual(await Promise.all(lived), Array(WORK.length).fill(1));
  });
});

describe('turns on DynamoDB, whatever happens in whatever order and at once', () => {
  it(`end once each, are held by one at a time, lose nothing and apply no report twice, in ${RUNS} lives`, {
    timeout: 900_000,
  }, async () => {
    let [runs, turns] = [0, 0];
    const liveIn = async (world: AwsWorld): Promise<void> => {
      world.onChange = watch;
      const property = fc.asyncProperty(lives(15), async (groups) => {
        const seen = await live(world, `agent-${runs++}`, groups);
        turns += seen;
      });
      await fc.assert(property, { numRuns: RUNS / WORLDS, endOnFailure: true });
    };
    await Promise.all(worlds.map(liveIn));
    assert.equal(runs, RUNS);
    assert.ok(turns > RUNS, `there was something to see in ${turns} turns`);
  });
});
