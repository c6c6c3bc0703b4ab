import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CHAOS_HELP, type Command, parseChaosOptions } from './options.ts';
import { formatOutcome, formatReplay } from './report.ts';
import { runChaos } from './run.ts';

const runRounds = async ({ rounds, seed, engines, ...options }: Command): Promise<boolean> => {
  let isWhole = true;
  for (let round = 0; round < rounds; round++) {
    for (const engine of engines) {
      const cleanUps: (() => unknown)[] = [];
      try {
        const outcome = await runChaos({ after: (cleanUp) => void cleanUps.unshift(cleanUp) }, engine, {
          ...options,
          seed: seed + round,
        });
        console.log(formatOutcome(engine, seed + round, outcome));
        if (outcome.violations.length > 0) {
          isWhole = false;
          console.log(formatReplay(engine, { ...options, seed: seed + round }));
          const file = join(tmpdir(), `parley-chaos-${engine}-${seed + round}.json`);
          writeFileSync(file, JSON.stringify(outcome.history, undefined, 1));
          console.log(`The whole history: ${file}`);
        }
      } finally {
        for (const cleanUp of cleanUps) await cleanUp();
      }
    }
  }
  return isWhole;
};

try {
  const command = parseChaosOptions(process.argv.slice(2));
  if (command === 'help') process.stdout.write(CHAOS_HELP);
  else if (command.mutants !== undefined) {
    const { runMutants } = await import('./mutants/run-mutants.ts');
    process.exitCode = (await runMutants(command.mutants)) ? 0 : 1;
  } else process.exitCode = (await runRounds(command)) ? 0 : 1;
} catch (error) {
  console.error(`chaos: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 2;
}
process.exit();
