import { type Chosen, chosenFrom } from './chosen.ts';

const SECTIONS = [
  'dialects',
  'growth',
  'idle',
  'lists',
  'lives',
  'cpu',
  'million',
  'messages',
  'streams',
  'turns',
  'stalls',
] as const;

export interface Counts {
  warmUp: number;
  /** Task cycles after which throughput and memory are measured, on one server. */
  milestones: number[];
  idle: number;
  stored: number;
  rounds: number;
  livesPerRound: number;
  profiled: number;
  decoded: number;
  sizes: number[];
  operations: number;
  audience: number;
}

const FULL: Counts = {
  warmUp: 2000,
  milestones: [10_000, 50_000, 100_000],
  idle: 1000,
  stored: 1_000_000,
  rounds: 4,
  livesPerRound: 5000,
  profiled: 15_000,
  decoded: 20_000,
  sizes: [10, 1000, 100_000],
  operations: 200,
  audience: 1000,
};

const QUICK: Counts = {
  warmUp: 300,
  milestones: [1000, 2000, 3000],
  idle: 150,
  stored: 20_000,
  rounds: 2,
  livesPerRound: 600,
  profiled: 1500,
  decoded: 4000,
  sizes: [10, 100, 1000],
  operations: 40,
  audience: 100,
};

export const HELP = `Measures the embedded engine over HTTP, with submitter, agent and server as three processes.

  npm run bench -- [options]

  --quick           small counts, to see that everything works: the figures say little
  --only <section>  one of ${SECTIONS.join(', ')}
  --help            this text

It prints a table, and writes the same as JSON to bench/results/.
`;

export const optionsFrom = (args: string[]): Chosen<(typeof SECTIONS)[number], Counts> | 'help' =>
  chosenFrom(args, SECTIONS, { quick: QUICK, full: FULL });
