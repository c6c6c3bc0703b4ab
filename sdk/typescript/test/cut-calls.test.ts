import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { isLong } from '../../../test/support/scale.ts';
import { connectAgent, connectPair, run } from './agents.ts';
import { createFaultyFetch } from './faulty-fetch.ts';

/** Of how many calls one is cut. */
const CUT_ONE_IN = 6;
const TASKS = isLong ? 300 : 40;

/** Mulberry32: the same numbers for the same seed. */
const createRandom = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0;
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
};

describe('over a network that cuts calls before and after they take effect', () => {
  const seed = isLong ? Math.floor(Math.random() * 2 ** 31) : 1;

  it(`every request ends once with its result, and no finished step is repeated (seed ${seed})`, async () => {
    const random = createRandom(seed);
    const decide = () => (random() * CUT_ONE_IN < 1 ? (random() < 0.5 ? 'before' : 'after') : 'none');
    const network = createFaultyFetch(decide);
    const { capability, parley } = await connectPair({}, { fetch: network.fetch, retryFor: '5m' });
    const requester = await connectAgent([], { fetch: createFaultyFetch(decide).fetch, retryFor: '5m' });
    const helper = await connectPair();
    run(helper.worker.on<number, number>(helper.capability, ({ input }) => input * 2));
    const repeated: string[] = [];
    for (let workers = 0; workers < 2; workers++) {
      const worker = parley.worker({ concurrency: 10, lease: '30s' });
      worker.on<number, number>(capability, async (task, ctx) => {
        const kept = `PUT /v1/tasks/${task.id}/steps/one 200`;
        const one = await ctx.step('one', () => {
          if (network.effects.includes(kept)) repeated.push(task.id);
          return 1;
        });
        await ctx.progress(50);
        return one + (await ctx.call<number>(helper.capability, task.input));
      });
      run(worker);
    }
    const ids = Array.from({ length: TASKS }, () => randomUUID());
    const results = ids.map((id, index) => requester.request<number>(capability, index, { id }).result());
    assert.deepEqual(
      await Promise.all(results),
      ids.map((_, index) => 1 + 2 * index),
    );
    assert.deepEqual(repeated, []);
    const told: unknown[] = [];
    for await (const { kind, taskId } of requester.inbox()) {
      if (kind === 'result') told.push(taskId);
      if (told.length === TASKS) break;
    }
    assert.deepEqual(told.toSorted(), ids.toSorted());
  });
});
