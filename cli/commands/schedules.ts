import { type Command, type CommandCall, getText, UsageError } from '../command.ts';
import { connectFrom, isAdminKey, toAgentName } from '../connection.ts';
import { parseJsonArgument } from '../json-argument.ts';
import { listPages } from '../list-pages.ts';
import { type Column, formatAge, type Output } from '../output.ts';
import { resolveConnection } from '../profiles.ts';

interface Schedule {
  scheduleId: string;
  from: string;
  cron: string;
  task: { capability: string };
  status: string;
  nextRuns: string[];
  runs: number;
  lastRunAt?: string;
  lastError?: { code: string; message: string };
}

const COLUMNS: Column<Schedule>[] = [
  { title: 'id', value: ({ scheduleId }) => scheduleId },
  { title: 'status', value: ({ status }) => status, style: ({ status }) => (status === 'paused' ? 'yellow' : 'green') },
  { title: 'capability', value: ({ task }) => task.capability },
  { title: 'cron', value: ({ cron }) => cron },
  { title: 'from', value: ({ from }) => from },
  { title: 'runs', value: ({ runs }) => runs, align: 'right' },
  { title: 'last', value: ({ lastRunAt }) => formatAge(lastRunAt), align: 'right' },
  { title: 'next', value: ({ nextRuns: [next] }) => next },
  { title: 'error', value: ({ lastError }) => lastError?.code, style: () => 'red' },
];

const toPath = (id: string, action = ''): string => `/v1/schedules/${encodeURIComponent(id)}${action}`;

const show = (out: Output, schedule: Schedule): void => {
  if (out.isJson) out.json(schedule);
  else out.table([schedule], COLUMNS, '');
};

const list: Command = {
  name: 'schedules list',
  summary: 'List schedules with their next run',
  options: { requester: '<agent> of this agent' },
  examples: ['parley schedules list', 'parley schedules list --json | jq -r .[].nextRuns[0]'],
  run: async ({ options, out }) => {
    const query = { requester: getText(options, 'requester') };
    const all = await listPages<Schedule>(connectFrom(options), '/v1/schedules', 'schedules', query);
    out.table(all, COLUMNS, 'No schedules. parley schedules put ID CRON CAPABILITY makes one.');
  },
};

const get: Command = {
  name: 'schedules get',
  summary: 'Show a schedule with its next runs',
  args: 'ID',
  arity: [1, 1],
  examples: ['parley schedules get daily-briefing'],
  run: async ({ args: [id = ''], options, out }) => {
    const schedule = await connectFrom(options).call<Schedule>('GET', toPath(id));
    show(out, schedule);
    if (!out.isJson) for (const at of schedule.nextRuns.slice(1)) out.note(`then ${at}`);
  },
};

const put: Command = {
  name: 'schedules put',
  summary: 'Request a task at times of a calendar, or change such a schedule',
  args: 'ID CRON CAPABILITY [JSON]',
  arity: [3, 4],
  options: {
    as: '<name> the agent that requests, where the key is an admin key',
    priority: '<priority> critical, high, normal or low',
    to: '<agent> the only agent that may do it',
    missed: '<policy> what becomes of runs that an outage swallowed: skip, once or all (once)',
  },
  examples: [
    `parley schedules put daily-briefing '0 6 * * 1-5' security.briefing '{"scope": "daily"}'`,
    `parley schedules put pulse '*/15 * * * *' security.scan --missed skip`,
  ],
  run: async ({ args: [id = '', cron = '', capability = '', text], options, out }) => {
    const parley = connectFrom(options);
    const agent = isAdminKey(resolveConnection(options)) ? await ensureAgent(options) : undefined;
    const input = text === undefined ? undefined : parseJsonArgument(text, 'The input');
    const [priority, to, missed] = ['priority', 'to', 'missed'].map((name) => getText(options, name));
    const task = {
      capability,
      ...(input !== undefined && { input }),
      ...(priority !== undefined && { priority }),
      ...(to !== undefined && { to }),
    };
    const body = { cron, task, ...(agent !== undefined && { agent }), ...(missed !== undefined && { missed }) };
    show(out, await parley.call<Schedule>('PUT', toPath(id), { body }));
  },
};

/** An admin key requests nothing for itself. The key of an agent that is there stays. */
const ensureAgent = async (options: CommandCall['options']): Promise<string> => {
  const named = getText(options, 'as');
  if (named !== undefined) return named;
  const name = toAgentName('cli');
  await connectFrom(options).call('PUT', `/v1/agents/${name}`, { body: { dialect: 'native' } });
  return name;
};

const control = (action: 'pause' | 'resume', summary: string): Command => ({
  name: `schedules ${action}`,
  summary,
  args: 'ID',
  arity: [1, 1],
  examples: [`parley schedules ${action} daily-briefing`],
  run: async ({ args: [id = ''], options, out }) =>
    show(out, await connectFrom(options).call<Schedule>('POST', toPath(id, `/${action}`))),
});

const pause = control('pause', 'Request no more tasks of a schedule');
const resume = control('resume', 'Request the tasks of a schedule again; what was missed is not made up for');

const run: Command = {
  name: 'schedules run',
  summary: 'Request the task of a schedule now, beside its times',
  args: 'ID',
  arity: [1, 1],
  examples: ['parley schedules run daily-briefing', 'parley tasks watch $(parley schedules run daily-briefing)'],
  run: async ({ args: [id = ''], options, out }) => {
    const task = await connectFrom(options).call<{ id: string }>('POST', toPath(id, '/run'));
    if (out.isJson) out.json(task);
    else out.line(task.id);
  },
};

const remove: Command = {
  name: 'schedules remove',
  summary: 'Remove a schedule; the tasks that it has requested stay',
  args: 'ID …',
  arity: [1, 100],
  examples: ['parley schedules remove daily-briefing'],
  run: async ({ args, options, out }) => {
    if (args.some((id) => id === '')) throw new UsageError('An id is empty.');
    for (const id of args) {
      await connectFrom(options).call('DELETE', toPath(id));
      out.note(`${id} is removed.`);
    }
  },
};

export { get, list, pause, put, remove, resume, run };
