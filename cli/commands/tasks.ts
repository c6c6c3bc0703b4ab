import type { RequestHandle, TaskStatus } from '../../sdk/typescript/src/index.ts';
import { BULK_OPTIONS, changeAll } from '../bulk.ts';
import { type Command, type CommandCall, EXIT, ExitError, getNumber, getText, UsageError } from '../command.ts';
import { connectFrom } from '../connection.ts';
import { parseJsonArgument } from '../json-argument.ts';
import { listPages } from '../list-pages.ts';
import type { Output } from '../output.ts';
import { FILTER_OPTIONS, parseTaskFilter, toQuery } from '../task-filter.ts';
import { showTask, TASK_COLUMNS, type TaskRow, watchTask } from '../task-view.ts';

const list: Command = {
  name: 'tasks list',
  summary: 'List tasks, newest first',
  options: {
    ...FILTER_OPTIONS,
    limit: '<n> how many (20)',
  },
  examples: ['parley tasks list --status failed', 'parley tasks list --agent worker --limit 100 --json | jq .[].id'],
  run: async ({ options, out }) => {
    const query = toQuery(parseTaskFilter(options));
    const limit = getNumber(options, 'limit') ?? 20;
    const tasks = await listPages<TaskRow>(connectFrom(options), '/v1/tasks', 'tasks', query, limit);
    out.table(tasks, TASK_COLUMNS, 'No tasks.');
  },
};

const get: Command = {
  name: 'tasks get',
  summary: 'Show one task with its timeline',
  args: 'ID',
  arity: [1, 1],
  options: { dialect: '<dialect> the newest message about it in this dialect' },
  examples: ['parley tasks get 5f0c1c9e-…', 'parley tasks get 5f0c1c9e-… --dialect agent-os'],
  run: async ({ args: [id = ''], options, out }) => {
    const dialect = getText(options, 'dialect');
    const path = `/v1/tasks/${encodeURIComponent(id)}`;
    const task = await connectFrom(options).call<TaskStatus>('GET', path, { query: { dialect } });
    if (dialect === undefined) showTask(out, task);
    else out.json(task);
  },
};

const watch: Command = {
  name: 'tasks watch',
  summary: 'Follow a task until it ends',
  args: 'ID',
  arity: [1, 1],
  examples: ['parley tasks watch 5f0c1c9e-… && echo done'],
  run: ({ args: [id = ''], options, out, signal }) => watchTask(out, connectFrom(options).task(id), signal),
};

/** One call for each; a rejected one does not keep the others from being tried. */
const forEach = async (ids: string[], out: Output, act: (id: string) => Promise<TaskStatus>): Promise<void> => {
  const results: { id: string; state?: string; error?: string }[] = [];
  for (const id of ids) {
    try {
      results.push({ id, state: (await act(id)).state });
    } catch (error) {
      results.push({ id, error: error instanceof Error ? error.message : String(error) });
    }
  }
  out.table(
    results,
    [
      { title: 'id', value: ({ id }) => id },
      { title: 'state', value: ({ state, error }) => state ?? error },
    ],
    'No tasks.',
  );
  if (results.some(({ error }) => error !== undefined)) throw new ExitError(EXIT.rejected);
};

const changeThese = async (
  kind: 'cancel' | 'retry',
  { args, options, out, signal }: CommandCall,
  act: (task: RequestHandle) => Promise<TaskStatus>,
): Promise<void> => {
  const filter = parseTaskFilter(options);
  const isFiltered = Object.keys(filter).length > 0;
  if (isFiltered === args.length > 0) {
    throw new UsageError(`parley tasks ${kind} takes ids, or a filter such as --domain security.`);
  }
  const parley = connectFrom(options);
  if (isFiltered) await changeAll(parley, kind, filter, { options, out, signal });
  else await forEach(args, out, (id) => act(parley.task(id)));
};

const cancel: Command = {
  name: 'tasks cancel',
  summary: 'Cancel tasks, by their ids or all that a filter matches',
  args: '[ID …]',
  arity: [0, 1000],
  options: { ...FILTER_OPTIONS, ...BULK_OPTIONS },
  examples: ['parley tasks cancel 5f0c1c9e-…', 'parley tasks cancel --domain security --since 1h --dry-run'],
  run: (call) => changeThese('cancel', call, (task) => task.cancel()),
};

const retry: Command = {
  name: 'tasks retry',
  summary: 'Run failed or expired tasks once more, by their ids or all that a filter matches',
  args: '[ID …]',
  arity: [0, 1000],
  options: { ...FILTER_OPTIONS, ...BULK_OPTIONS },
  examples: ['parley tasks retry 5f0c1c9e-…', "parley tasks retry --error model_error --reason 'the model is back'"],
  run: (call) => changeThese('retry', call, (task) => task.retry()),
};

const rerun: Command = {
  name: 'tasks rerun',
  summary: 'Run a task that has ended again, as a new task',
  args: 'ID [JSON]',
  arity: [1, 2],
  options: {
    id: '<id> of the new task; the same id again is the same task',
    priority: '<priority> of the new task (that of the old one)',
    watch: 'print what happens until it ends',
  },
  examples: ['parley tasks rerun 5f0c1c9e-…', `parley tasks rerun 5f0c1c9e-… '{"scope": "weekly"}' --watch`],
  run: async ({ args: [id = '', text], options, out, signal }) => {
    const parley = connectFrom(options);
    const [newId, priority] = [getText(options, 'id'), getText(options, 'priority')];
    const task = await parley.call<TaskStatus>('POST', `/v1/tasks/${encodeURIComponent(id)}/rerun`, {
      body: {
        ...(text !== undefined && { input: parseJsonArgument(text, 'The input') }),
        ...(newId !== undefined && { id: newId }),
        ...(priority !== undefined && { priority }),
      },
    });
    if (options.watch) await watchTask(out, parley.task(task.id), signal);
    else if (out.isJson) out.json(task);
    else out.line(task.id);
  },
};

const answer: Command = {
  name: 'tasks answer',
  summary: 'Answer what the holder of a task asks',
  args: 'ID JSON',
  arity: [2, 2],
  examples: [`parley tasks answer 5f0c1c9e-… '{"ok": true}'`, `parley tasks answer 5f0c1c9e-… '"yes"'`],
  run: async ({ args: [id = '', text = ''], options, out }) => {
    const task = await connectFrom(options).task(id).answer(parseJsonArgument(text, 'The answer'));
    if (out.isJson) out.json(task);
    else out.line(`${id}  ${task.state}`);
  },
};

export { answer, cancel, get, list, rerun, retry, watch };
