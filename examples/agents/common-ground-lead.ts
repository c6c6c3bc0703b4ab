import { connect } from '../../sdk/typescript/src/index.ts';

/** Forks a quest to two scouts, waits for both, and joins what they have seen. */
const parley = connect();

interface Report {
  seen: string;
}

const worker = parley.turns<{ place?: string }>(async (turn, ctx) => {
  const place = turn.payload.place ?? 'the woods';
  await ctx.step('plan', () => `Send two scouts to ${place}`, { phase: 'planning' });
  const reports = await ctx.fork<Report>(
    [
      { agent: 'bors', instruction: `The north of ${place}` },
      { agent: 'percival', instruction: `The south of ${place}` },
    ],
    { deadline: '2m' },
  );
  const lines = reports.map(({ agent, output, error }) => `${agent}: ${output?.seen ?? `nothing, ${error}`}`);
  for (const line of lines) await ctx.say(`${line}\n`);
  return { place, text: lines.join('\n') };
});

await worker.run();
