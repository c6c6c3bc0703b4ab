import { parseArgs } from 'node:util';

export interface Mode {
  label: string;
  keys: number;
  connections: number;
  isPipelined: boolean;
}

/** 3,000 callers with one request in flight each, or 40 that ignore the answers. */
const MODES: Mode[] = [
  { label: 'one key, pipelined', keys: 1, connections: 40, isPipelined: true },
  { label: 'one key', keys: 1, connections: 3000, isPipelined: false },
  { label: 'eight keys, pipelined', keys: 8, connections: 40, isPipelined: true },
  { label: 'eight keys', keys: 8, connections: 3000, isPipelined: false },
];

export interface OverloadOptions {
  seconds: number;
  factor: number;
  modes: Mode[];
}

export const HELP = `Floods Parley with more than it can do, and measures what that costs those who do not flood.

  npm run bench:overload -- [options]

  --seconds <n>   how long each flood lasts (60; at most 600)
  --factor <n>    how many times the measured capacity is sent (5; at most 20)
  --mode <n>      only one of: ${MODES.map(({ label }, n) => `${n + 1} ${label}`).join('; ')}
  --help          this text

Server, flooder and observer are processes of their own, on 127.0.0.1. Beside the flood another key does task cycles and /healthz is
asked. At the end the server is killed (SIGKILL) and started again, and every task that was acknowledged is looked for.
`;

export const optionsFrom = (args: string[]): OverloadOptions | 'help' => {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '60' },
      factor: { type: 'string', default: '5' },
      mode: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const modes = MODES.filter((_, n) => values.mode === undefined || values.mode === String(n + 1));
  if (modes.length === 0) throw new Error(`--mode must be a number from 1 to ${MODES.length}, not "${values.mode}".`);
  return {
    seconds: numberIn('--seconds', values.seconds, 600),
    factor: numberIn('--factor', values.factor, 20),
    modes,
  };
};

const numberIn = (option: string, text: string, most: number): number => {
  const value = Number(text);
  if (value > 0 && value <= most) return value;
  throw new Error(`${option} must be a number above 0 and at most ${most}, not "${text}".`);
};
