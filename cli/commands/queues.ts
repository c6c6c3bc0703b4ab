import { type Command, getNumber, getText } from '../command.ts';
import { connectFrom } from '../connection.ts';
import { listPages } from '../list-pages.ts';
import { formatBar, showLive } from '../live-view.ts';
import { type Column, formatAge, formatTable, type Output } from '../output.ts';

interface Count {
  value: number;
  isExact: boolean;
}

interface Queue {
  id: string;
  paused: boolean;
  waiting: Count;
  oldestWaitingSince?: string;
  inFlight: Count;
  waitingClaims?: number;
  recent?: { arrivals: number; claims: number };
  limits?: { key: string; reason: string; waiting: number }[];
}

const DEFAULT_INTERVAL_S = 1;

const formatCount = ({ value, isExact }: Count): string => `${value}${isExact ? '' : '+'}`;

const formatLimits = ({ limits = [] }: Queue): string =>
  limits.map(({ key, reason, waiting }) => `${key} (${reason}): ${waiting}`).join(', ');

const buildColumns = (queues: Queue[], hasBars: boolean): Column<Queue>[] => {
  const most = Math.max(1, ...queues.map(({ waiting }) => waiting.value));
  return [
    {
      title: 'queue',
      value: ({ id, paused }) => `${id}${paused ? ' (paused)' : ''}`,
      style: ({ paused }) => (paused ? 'yellow' : undefined),
    },
    { title: 'waiting', value: ({ waiting }) => formatCount(waiting), align: 'right' },
    ...(hasBars ? [{ title: '', value: ({ waiting }: Queue) => formatBar(waiting.value / most) }] : []),
    { title: 'oldest', value: ({ oldestWaitingSince }) => formatAge(oldestWaitingSince), align: 'right' },
    { title: 'in flight', value: ({ inFlight }) => formatCount(inFlight), align: 'right' },
    { title: 'claimants', value: ({ waitingClaims }) => waitingClaims, align: 'right' },
    { title: 'arrived', value: ({ recent }) => recent?.arrivals, align: 'right' },
    { title: 'claimed', value: ({ recent }) => recent?.claims, align: 'right' },
    ...(queues.some(({ limits = [] }) => limits.length > 0)
      ? [{ title: 'waits for limits', value: formatLimits }]
      : []),
  ];
};

const queues: Command = {
  name: 'queues',
  summary: 'Show what waits in each queue, since when, and what is in flight',
  options: {
    domain: '<domain> this domain and its capabilities',
    capability: '<capability> this one',
    agent: '<agent> what waits for this agent alone',
    watch: 'draw it again until Ctrl-C; without a terminal, print it when it has changed',
    interval: '<seconds> how often with --watch (1)',
  },
  examples: ['parley queues', 'parley queues --watch', 'parley queues --domain security --json | jq .[].waiting.value'],
  run: async ({ options, out, signal }) => {
    const parley = connectFrom(options);
    const filter = Object.fromEntries(['domain', 'capability', 'agent'].map((name) => [name, getText(options, name)]));
    const load = (): Promise<Queue[]> => listPages(parley, '/v1/queues', 'queues', filter);
    if (!options.watch) {
      const all = await load();
      out.table(all, buildColumns(all, out.isTerminal), 'No queues.');
      return;
    }
    const intervalMs = (getNumber(options, 'interval') ?? DEFAULT_INTERVAL_S) * 1000;
    await showLive(out, signal, intervalMs, async () => renderQueues(out, parley.url, await load()));
  },
};

const renderQueues = (out: Output, url: string, all: Queue[]): string[] => {
  if (out.isJson) return [JSON.stringify(all)];
  const table = formatTable(out, all, buildColumns(all, out.isTerminal));
  if (!out.isTerminal) return table;
  const waiting = all.reduce((sum, queue) => sum + queue.waiting.value, 0);
  const inFlight = all.reduce((sum, queue) => sum + queue.inFlight.value, 0);
  const head = `${out.style('bold', 'Queues')} of ${url}  ${waiting} waiting, ${inFlight} in flight`;
  return [head, '', ...table, '', out.style('dim', 'Ctrl-C ends this.')];
};

const control = (action: 'pause' | 'resume', summary: string): Command => ({
  name: `queues ${action}`,
  summary,
  args: 'QUEUE',
  arity: [1, 1],
  ...(action === 'pause' && { options: { reason: '<text> why, for others who look' } }),
  examples: [`parley queues ${action} domain:security`, `parley queues ${action} capability:security.briefing`],
  run: async ({ args: [id = ''], options, out }) => {
    const reason = getText(options, 'reason');
    const result = await connectFrom(options).call<{ id: string; paused: boolean }>(
      'POST',
      `/v1/queues/${encodeURIComponent(id)}/${action}`,
      { body: reason === undefined ? {} : { reason } },
    );
    if (out.isJson) out.json(result);
    else out.line(`${result.id} ${result.paused ? 'is paused' : 'goes on'}`);
  },
});

const pause = control('pause', 'Hand out no more tasks of a queue; those in flight go on');
const resume = control('resume', 'Hand out the tasks of a queue again');

export { pause, queues, resume };
