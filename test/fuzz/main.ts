import { parseArgs } from 'node:util';
import { printTable } from '../../bench/print-table.ts';
import { type Fuzzed, type FuzzOptions, fuzz } from './run.ts';

const HELP = `Sends a running Parley what no client should send, and looks at every answer.

  npm run fuzz -- [options]

  --seed <n>     decides all inputs (by default chance does, and it is printed)
  --inputs <n>   how many (100000; the long form is 1000000)
  --from <n>     the number of the first (0): with --inputs 1 it repeats one input
  --help         this text

Inputs are made from /openapi.json and from the schemas of all dialects: valid, nearly valid and nasty; and there are broken JSON,
odd HTTP and plain bytes. An answer must have a code, and none is 5xx but the documented 503. It listens on 127.0.0.1.
`;

const integer = (option: string, text: string, most: number): number => {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value <= most) return value;
  throw new Error(`${option} must be a whole number up to ${most}, not "${text}".`);
};

const parseOptions = (args: string[]): FuzzOptions | 'help' => {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      inputs: { type: 'string', default: '100000' },
      from: { type: 'string', default: '0' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  return {
    seed: integer('--seed', values.seed, 2 ** 31),
    from: integer('--from', values.from, 2 ** 31),
    inputs: integer('--inputs', values.inputs, 1e8),
  };
};

const rowsOf = ({ inputs, routes, statuses, neverTaken, healthz, memoryMb, handles }: Fuzzed): string[][] => [
  ['inputs', String(inputs)],
  ['routes', `${routes}, of which ${neverTaken.length} never answered with success`],
  ['answers', JSON.stringify(statuses)],
  ['/healthz, ms', `p50 ${healthz.p50.toFixed(1)}, p99 ${healthz.p99.toFixed(1)}, most ${healthz.max.toFixed(0)}`],
  ['/healthz over 250 ms; failed', `${healthz.stalls} of ${healthz.count}; ${healthz.failures}`],
  ['memory, MB', `${memoryMb.begin} at first, ${memoryMb.half} at half, ${memoryMb.end} at the end`],
  ['open handles', `${handles.begin} at first, ${handles.end} at the end`],
];

const cleanUps: (() => unknown)[] = [];
try {
  const options = parseOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(HELP);
  else {
    const fuzzed = await fuzz({ after: (cleanUp) => void cleanUps.unshift(cleanUp) }, options);
    printTable(`seed ${options.seed}, inputs from ${options.from}`, rowsOf(fuzzed));
    if (fuzzed.neverTaken.length > 0) console.log(`\nNever taken: ${fuzzed.neverTaken.join(', ')}`);
    for (const violation of fuzzed.violations) console.log(`\n${violation}`);
    process.exitCode = fuzzed.violations.length > 0 ? 1 : 0;
  }
} catch (error) {
  console.error(`fuzz: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 2;
}
for (const cleanUp of cleanUps) await cleanUp();
process.exit();
