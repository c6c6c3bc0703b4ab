import { type Command, getNumber, getText, UsageError } from '../command.ts';
import { connectFrom } from '../connection.ts';
import { parseRate } from '../limit-argument.ts';
import { formatAge, type Output } from '../output.ts';

interface Limit {
  key: string;
  concurrency?: number;
  rate?: { starts: number; seconds: number };
  source: string;
  setBy?: string;
  running: number;
  nextStartAt?: string;
  waiting: { value: number; isExact: boolean };
  holders: { taskId: string; agent?: string; since?: string }[];
}

const formatRate = ({ rate }: Limit): string | undefined => rate && `${rate.starts}/${rate.seconds}s`;

const COLUMNS = [
  { title: 'key', value: ({ key }: Limit) => key },
  { title: 'concurrency', value: ({ concurrency }: Limit) => concurrency, align: 'right' as const },
  { title: 'rate', value: formatRate, align: 'right' as const },
  { title: 'running', value: ({ running }: Limit) => running, align: 'right' as const },
  {
    title: 'unclaimed',
    value: ({ waiting }: Limit) => `${waiting.value}${waiting.isExact ? '' : '+'}`,
    align: 'right' as const,
  },
  { title: 'set by', value: ({ source, setBy }: Limit) => setBy ?? source },
];

const list: Command = {
  name: 'limits list',
  summary: 'List the limits of tasks: how many run, and how many wait',
  examples: ['parley limits list', 'parley limits list --json | jq .[].key'],
  run: async ({ options, out }) => {
    const parley = connectFrom(options);
    const all: Limit[] = [];
    let cursor: string | undefined;
    do {
      const query = { limit: 100, cursor };
      const page = await parley.call<{ limits: Limit[]; cursor?: string }>('GET', '/v1/limits', { query });
      all.push(...page.limits);
      cursor = page.cursor;
    } while (cursor !== undefined);
    out.table(all, COLUMNS, 'No limits. parley limits set KEY --concurrency N sets one.');
  },
};

const toPath = (key: string): string => `/v1/limits/${encodeURIComponent(key)}`;

const show = (out: Output, limit: Limit): void => {
  if (out.isJson) {
    out.json(limit);
    return;
  }
  out.table([limit], COLUMNS, '');
  if (limit.nextStartAt) out.line(`The next task starts at ${limit.nextStartAt}.`);
  for (const { taskId, agent, since } of limit.holders)
    out.line(`  ${taskId}  ${agent ?? ''}  ${formatAge(since) ?? ''}`.trimEnd());
};

const get: Command = {
  name: 'limits get',
  summary: 'Show one limit, and the tasks that have its places',
  args: 'KEY',
  arity: [1, 1],
  examples: ['parley limits get openai', 'parley limits get domain:security'],
  run: async ({ args: [key = ''], options, out }) =>
    show(out, await connectFrom(options).call<Limit>('GET', toPath(key))),
};

const set: Command = {
  name: 'limits set',
  summary: 'Set how many tasks of a key run at once, or start in a window',
  args: 'KEY',
  arity: [1, 1],
  options: {
    concurrency: '<number> tasks of the key that run at once',
    rate: '<starts/seconds> tasks of the key that start in so many seconds, such as 500/60',
  },
  examples: [
    'parley limits set openai --concurrency 20 --rate 500/60',
    "parley limits set 'requester:*' --concurrency 10",
    'parley limits set domain:security --rate 100/1',
  ],
  run: async ({ args: [key = ''], options, out }) => {
    const concurrency = getNumber(options, 'concurrency');
    const rate = getText(options, 'rate');
    if (concurrency === undefined && rate === undefined)
      throw new UsageError('Say --concurrency, --rate or both. parley limits remove removes a limit.');
    const body = {
      ...(concurrency !== undefined && { concurrency }),
      ...(rate !== undefined && { rate: parseRate(rate) }),
    };
    show(out, await connectFrom(options).call<Limit>('PUT', toPath(key), { body }));
  },
};

const remove: Command = {
  name: 'limits remove',
  summary: 'Remove a limit that an operator set',
  args: 'KEY',
  arity: [1, 1],
  examples: ['parley limits remove openai'],
  run: async ({ args: [key = ''], options, out }) => {
    await connectFrom(options).call('DELETE', toPath(key));
    out.note(`The limit ${key} is removed.`);
  },
};

export { get, list, remove, set };
