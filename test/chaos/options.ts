import { parseArgs } from 'node:util';

export const FAULTS = {
  kill: 'a process is killed (SIGKILL) and started again',
  clock: 'the clock jumps: seconds forward, a minute forward, a second back',
  calls: 'calls of clients fail before or after they took effect, are not waited for, or come twice at once',
  ports:
    'storage does all that its contract allows: conflicts, repeated writes, stale lists, messages late, twice or lost from sight',
  changes: 'changes of records are followed late, twice, long after, in another order, and fail in between',
  disk: 'no file grows for a while (embedded)',
  storage: 'answers of DynamoDB and SQS are lost, late, or errors of throttling (aws)',
  nats: 'the relay is cut off from NATS, or from Parley (embedded)',
  readers: 'readers of the live stream are slow, and are cut off',
} as const;
export type Fault = keyof typeof FAULTS;
const NAMES = Object.keys(FAULTS) as Fault[];

export interface ChaosOptions {
  engines: ('embedded' | 'aws')[];
  seed: number;
  seconds: number;
  faults: Fault[];
}

export const CHAOS_HELP = `Runs Parley while everything around it fails, and checks all that it acknowledged.

  npm run chaos -- [options]

  --seed <n>           decides what is sent and what fails (by default chance does, and it is printed)
  --engine <name>      embedded, aws, or both (both)
  --seconds <n>        how long there are faults, on each engine (20; at most 3600)
  --faults <a,b>       only some (all)
  --rounds <n>         so many seeds, one after the other (1)
  --mutants [<name>]   puts bugs into a copy of the sources, one at a time: each must be caught
  --help               this text

Faults:
${NAMES.map((name) => `  ${name.padEnd(10)} ${FAULTS[name]}`).join('\n')}

Ends with 1 if anything was lost, doubled, stuck or handed to two. On one machine, on 127.0.0.1.
`;

export interface Command extends ChaosOptions {
  rounds: number;
  /** All, or one. */
  mutants?: string;
}

export const parseChaosOptions = (args: string[]): Command | 'help' => {
  // The name of one is optional.
  const given = args.flatMap((arg, at) =>
    arg === '--mutants' && (args[at + 1] ?? '--').startsWith('--') ? ['--mutants', 'all'] : [arg],
  );
  const { values } = parseArgs({
    args: given,
    options: {
      seed: { type: 'string' },
      engine: { type: 'string', default: 'both' },
      seconds: { type: 'string', default: '20' },
      faults: { type: 'string', default: NAMES.join() },
      rounds: { type: 'string', default: '1' },
      mutants: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const faults = values.faults.split(',').filter(Boolean);
  const unknown = faults.find((name) => !(NAMES as string[]).includes(name));
  if (unknown !== undefined) throw new Error(`--faults knows ${NAMES.join(', ')}, not "${unknown}".`);
  if (!['both', 'embedded', 'aws'].includes(values.engine))
    throw new Error(`--engine must be embedded, aws or both, not "${values.engine}".`);
  return {
    engines: values.engine === 'both' ? ['embedded', 'aws'] : [values.engine as 'embedded' | 'aws'],
    seed: integer('--seed', values.seed ?? String(Math.floor(Math.random() * 2 ** 31)), 0, 2 ** 31),
    seconds: integer('--seconds', values.seconds, 1, 3600),
    rounds: integer('--rounds', values.rounds, 1, 10_000),
    faults: NAMES.filter((name) => faults.includes(name)),
    ...(values.mutants !== undefined && { mutants: values.mutants }),
  };
};

const integer = (option: string, text: string, least: number, most: number): number => {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new Error(`${option} must be a whole number from ${least} to ${most}, not "${text}".`);
};
