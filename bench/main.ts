import { lookAtMachine } from './machine.ts';
import { measureCpu } from './measure-cpu.ts';
import { measureDialects } from './measure-dialects.ts';
import { measureGrowth } from './measure-growth.ts';
import { measureIdle, measureLives } from './measure-lives.ts';
import { measureMessages } from './measure-messages.ts';
import { measureMillion } from './measure-million.ts';
import { measureTurns } from './measure-turns.ts';
import { type Counts, HELP, type Options, optionsFrom, type Section } from './options.ts';
import {
  printCpu,
  printIdle,
  printLives,
  printMachine,
  printMessages,
  printMillion,
  printTurns,
  type Results,
} from './report.ts';
import { printDialects, printGrowth } from './report-sizes.ts';
import { writeResults } from './write-results.ts';

const run = async ({ sections, counts, quick }: Options): Promise<void> => {
  const results: Results = { machine: lookAtMachine() };
  printMachine(results.machine);
  for (const section of sections) await MEASURE[section](results, counts);
  console.log(`\nwritten to ${writeResults({ quick, ...results }, quick ? '-quick' : '')}`);
};

const MEASURE: Record<Section, (results: Results, counts: Counts) => Promise<void>> = {
  dialects: async (results, counts) => {
    results.dialects = measureDialects(counts);
    printDialects(results.dialects);
  },
  growth: async (results, counts) => {
    results.growth = await measureGrowth(counts);
    printGrowth(results.growth);
  },
  idle: async (results, counts) => {
    results.idle = await measureIdle(counts);
    printIdle(results.idle);
  },
  lives: async (results, counts) => {
    results.lives = await measureLives(counts);
    printLives(results.lives);
  },
  cpu: async (results, counts) => {
    results.cpu = await measureCpu(counts);
    printCpu(results.cpu);
  },
  million: async (results, counts) => {
    results.million = await measureMillion(counts);
    printMillion(results.million);
  },
  messages: async (results, counts) => {
    results.messages = await measureMessages(counts);
    printMessages(results.messages);
  },
  turns: async (results, counts) => {
    results.turns = await measureTurns(counts);
    printTurns(results.turns);
  },
};

try {
  const options = optionsFrom(process.argv.slice(2));
  if (options === 'help') process.stdout.write(HELP);
  else await run(options);
  process.exit(0);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
