import { type Parley, ParleyError } from '../../sdk/typescript/src/index.ts';
import type { Command } from '../command.ts';
import { connectFrom } from '../connection.ts';
import { listPages } from '../list-pages.ts';
import { formatAge, type Style } from '../output.ts';

interface Count {
  value: number;
  isExact: boolean;
}

interface Statistics {
  submitted: number;
  completed: number;
  failed: number;
  timeToEnd?: { p50: number; p99: number };
}

interface Queue {
  waiting: Count;
  inFlight: Count;
  oldestWaitingSince?: string;
}

const formatMs = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
const formatCount = ({ value, isExact }: Count): string => `${value}${isExact ? '' : ' or more'}`;

const loadFacts = async (parley: Parley) => {
  const count = (states: string): Promise<Count> =>
    parley
      .call<{ count: Count }>('GET', '/v1/tasks', { query: { status: states, count: true, limit: 1 } })
      .then((page) => page.count);
  const health = await parley.call<{ status: string; nats?: string }>('GET', '/healthz');
  const [agents, queues, statistics, questions, deadLetters] = await Promise.all([
    listPages<{ health?: { online?: boolean } }>(parley, '/v1/agents', 'agents'),
    listPages<Queue>(parley, '/v1/queues', 'queues'),
    loadStatistics(parley),
    count('input_required'),
    count('failed,expired'),
  ]);
  const oldest = queues.map(({ oldestWaitingSince }) => oldestWaitingSince).filter((at) => at !== undefined);
  return {
    url: parley.url,
    ...health,
    agents: agents.length,
    online: agents.filter((agent) => agent.health?.online).length,
    waiting: queues.reduce((sum, { waiting }) => sum + waiting.value, 0),
    oldestWaitingSince: oldest.toSorted()[0],
    inFlight: queues.reduce((sum, { inFlight }) => sum + inFlight.value, 0),
    lastHour: statistics,
    questions,
    deadLetters,
  };
};

/** Only operators see those of all. */
const loadStatistics = async (parley: Parley): Promise<Statistics | undefined> => {
  try {
    const query = { window: '1h', step: '15m' };
    const { total } = await parley.call<{ total: Statistics }>('GET', '/v1/stats', { query });
    const { submitted, completed, failed, timeToEnd } = total;
    return { submitted, completed, failed, ...(timeToEnd && { timeToEnd }) };
  } catch (error) {
    if (error instanceof ParleyError && error.status === 403) return undefined;
    throw error;
  }
};

const status: Command = {
  name: 'status',
  summary: 'Show whether Parley answers, its agents and its tasks',
  examples: ['parley status', 'parley status --json | jq .waiting'],
  run: async ({ options, out }) => {
    const facts = await loadFacts(connectFrom(options));
    if (out.isJson) {
      out.json(facts);
      return;
    }
    const { url, nats, agents, online, waiting, oldestWaitingSince, inFlight, lastHour, questions, deadLetters } =
      facts;
    const line = (name: string, text: string, style?: Style): void =>
      out.line(`  ${name.padEnd(13)} ${out.style(style, text)}`);
    out.line(`${out.style('green', '●')} Parley at ${url} answers${nats ? `; NATS is ${nats}` : ''}`);
    line('agents', `${agents}, ${online} online`);
    line('waiting', `${waiting}${oldestWaitingSince ? `, the oldest for ${formatAge(oldestWaitingSince)}` : ''}`);
    line('in flight', String(inFlight));
    if (lastHour) {
      const { submitted, completed, failed, timeToEnd } = lastHour;
      const took = timeToEnd ? `; half in ${formatMs(timeToEnd.p50)}, 99 % in ${formatMs(timeToEnd.p99)}` : '';
      line('last hour', `${submitted} requested, ${completed} completed, ${failed} failed${took}`);
    }
    line('questions', formatCount(questions), questions.value > 0 ? 'yellow' : undefined);
    line('dead letters', formatCount(deadLetters), deadLetters.value > 0 ? 'red' : undefined);
  },
};

export { status };
