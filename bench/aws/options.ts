import { type Chosen, chosenFrom } from '../chosen.ts';

const SECTIONS = ['lives', 'log', 'stored', 'idle', 'bundles'] as const;

export interface Counts {
  warmUp: number;
  lives: number;
  sparseLives: number;
  sizes: number[];
  livesPerSize: number;
  idleSeconds: number;
  imports: number;
}

const FULL: Counts = {
  warmUp: 200,
  lives: 200,
  sparseLives: 20,
  sizes: [10, 1000, 100_000],
  livesPerSize: 50,
  idleSeconds: 60,
  imports: 15,
};

const QUICK: Counts = {
  warmUp: 40,
  lives: 50,
  sparseLives: 3,
  sizes: [10, 100, 1000],
  livesPerSize: 25,
  idleSeconds: 25,
  imports: 3,
};

export const HELP = `Counts what a life costs on AWS, with the synthesized template running on this machine.

  npm run bench:aws -- [options]

  --quick           small counts: what is counted is right, what is timed says little
  --only <section>  one of ${SECTIONS.join(', ')}
  --help            this text

It prints tables, and writes the same as JSON to bench/results/. docs/operations/costs.md says what they mean.
`;

export const optionsFrom = (args: string[]): Chosen<(typeof SECTIONS)[number], Counts> | 'help' =>
  chosenFrom(args, SECTIONS, { quick: QUICK, full: FULL });
