import { connect } from '../../sdk/typescript/src/index.ts';

/** Rides where it is told, and tells what it has seen. */
const parley = connect();
const SIGHTS = ['a quiet road', 'a broken bridge', 'fresh tracks', 'smoke above the trees'];

const worker = parley.turns<{ instruction: string }>(async ({ payload }, ctx) => {
  await ctx.step('ride', () => new Promise((resolve) => setTimeout(resolve, 800 + Math.random() * 2000)));
  const seen = SIGHTS[Math.floor(Math.random() * SIGHTS.length)] ?? 'nothing';
  await ctx.say(`${payload.instruction}: ${seen}.`);
  return { seen, summary: `${payload.instruction}: ${seen}.` };
});

await worker.run();
