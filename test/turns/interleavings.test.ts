import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { testParley } from '../support/test-parley.ts';
import type { Scene } from './agent-life.ts';
import { live, lives, shrunk } from './random-turns.ts';

const RUNS = 150;

describe('interleaved turn commands', () => {
  it('ends every turn once, with one holder at a time and each report applied once, in any interleaving', async (t) => {
    const parley = await testParley(t);
    const { deps } = parley.parley;
    const world = {
      project: 'default',
      deps,
      advance: (ms: number) => parley.clock.advance(ms),
      settled: async () => {},
    };
    let runs = 0;
    const lived = shrunk(async (scenes: Scene[], schedule: fc.Scheduler) => {
      await live(world, `agent-${runs++}`, scenes, schedule);
    });
    await fc.assert(fc.asyncProperty(lives(24), fc.scheduler(), lived), { numRuns: RUNS });
    assert.deepEqual(
      parley.logged.filter((line) => line.startsWith('error')),
      [],
    );
  });
});
