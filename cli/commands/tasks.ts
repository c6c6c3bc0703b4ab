import type { TaskStatus } from '../../sdk/typescript/src/index.ts';
import { type Command, EXIT, ExitError, getNumber, getText } from '../command.ts';
import { connectFrom } from '../connection.ts';
import { parseJsonArgument } from '../json-argument.ts';
import type { Output } from '../output.ts';
import { showTask, TASK_COLUMNS, type TaskRow, watchTask } from '../task-view.ts';

const list: Command = {
  name: 'tasks list',
  summary: 'List tasks, newest first',
  options: {
    status:
      '<status> waiting, requested, claimed, in_progress, input_required, completed, failed, expired or cancelled',
    domain: '<domain> of this domain',
    agent: '<agent> from, for or held by this agent',
    conversation: '<id> of this conversation',
    limit: '<n> how many (20)',
  },
  examples: ['parley tasks list --status failed', 'parley tasks list --agent worker --limit 100 --json | jq .[].id'],
  run: async ({ options, out }) => {
    const parley = connectFrom(options);
    const wanted = getNumber(options, 'limit') ?? 20;
    const filter = Object.fromEntries(
      ['status', 'domain', 'agent', 'conversation'].map((name) => [name, getText(options, name)]),
    );
    const rows: TaskRow[] = [];
    let cursor: string | undefined;
    do {
      const query = { ...filter, limit: Math.min(100, wanted - rows.length), cursor };
      const page = await parley.call<{ tasks: TaskRow[]; cursor?: string }>('GET', '/v1/tasks', { query });
      rows.push(...page.tasks);
      cursor = page.cursor;
    } while (cursor !== undefined && rows.length < wanted);
    out.table(rows.slice(0, wanted), TASK_COLUMNS, 'No tasks.');
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

const cancel: Command = {
  name: 'tasks cancel',
  summary: 'Cancel tasks',
  args: 'ID …',
  arity: [1, 1000],
  examples: ['parley tasks cancel 5f0c1c9e-…'],
  run: ({ args, options, out }) => forEach(args, out, (id) => connectFrom(options).task(id).cancel()),
};

const retry: Command = {
  name: 'tasks retry',
  summary: 'Run failed or expired tasks once more',
  args: 'ID …',
  arity: [1, 1000],
  examples: ['parley tasks retry 5f0c1c9e-…'],
  run: ({ args, options, out }) => forEach(args, out, (id) => connectFrom(options).task(id).retry()),
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

export { answer, cancel, get, list, retry, watch };
