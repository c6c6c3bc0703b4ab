import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { eventually } from '../support/eventually.ts';
import { eventsOf, groundAgent } from '../support/ground.ts';
import { testParley } from '../support/test-parley.ts';
import { lives, Story } from './random-turns.ts';

const RUNS = 150;

describe('turns, whatever happens in whatever order and at once', () => {
  it('end once each, are held by one at a time, lose nothing and apply no report twice', async (t) => {
    const parley = await testParley(t);
    const { deps } = parley.parley;
    const world = { deps, advance: (ms: number) => parley.clock.advance(ms), settled: async () => {} };
    const turns: string[] = [];
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(lives(24), async (groups) => {
        const id = `agent-${runs++}`;
        await groundAgent(parley, id);
        const known = await deps.directory.agent('default', id);
        assert.ok(known);
        const story = new Story(world, known);
        for (const group of groups) await story.play(group);
        await story.drain();
        await story.check();
        turns.push(...story.turns);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    assert.ok(turns.length > RUNS, 'there was something to see');
    await eventually(async () => {
      const told = (await eventsOf(parley.admin, 'evt.agent.task')).map(({ data }) => data.payload.agent_turn_id);
      assert.deepEqual(told.toSorted(), turns.toSorted());
    });
    assert.deepEqual(
      parley.logged.filter((line) => line.startsWith('error')),
      [],
    );
  });
});
