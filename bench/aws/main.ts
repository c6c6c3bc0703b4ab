import { lookAtMachine } from '../machine.ts';
import { printMachine } from '../report.ts';
import { writeResults } from '../write-results.ts';
import { measureBundles } from './measure-bundles.ts';
import { measureIdle } from './measure-idle.ts';
import { measureLives } from './measure-lives.ts';
import { measureLog } from './measure-log.ts';
import { measureStored } from './measure-stored.ts';
import { type Counts, HELP, type Options, optionsFrom, type Section } from './options.ts';
import { printBundles, printIdle, printLives, printLog, printStored, type Results } from './report.ts';

const run = async ({ sections, counts, quick }: Options): Promise<void> => {
  const results: Results = { machine: lookAtMachine() };
  printMachine(results.machine);
  for (const section of sections) await MEASURE[section](results, counts);
  console.log(`\nwritten to ${writeResults({ quick, ...results }, quick ? '-aws-quick' : '-aws')}`);
};

const MEASURE: Record<Section, (results: Results, counts: Counts) => Promise<void>> = {
  lives: async (results, counts) => {
    results.lives = await measureLives(counts);
    printLives(results.lives);
  },
  log: async (results, counts) => {
    results.log = await measureLog(counts);
    printLog(results.log);
  },
  stored: async (results, { sizes, livesPerSize, warmUp }) => {
    results.stored = await measureStored(sizes, livesPerSize, warmUp);
    printStored(results.stored);
  },
  idle: async (results, { idleSeconds }) => {
    results.idle = await measureIdle(idleSeconds);
    printIdle(results.idle);
  },
  bundles: async (results, { imports }) => {
    results.bundles = await measureBundles(imports);
    printBundles(results.bundles);
  },
};

try {
  const options = optionsFrom(process.argv.slice(2));
  if (options === 'help') process.stdout.write(HELP);
  else await run(options);
  process.exit(0);
} catch (error) {
  console.error(error);
  process.exit(1);
}
