import { BULK_OPTIONS, changeAll } from '../bulk.ts';
import { type Command, EXIT, ExitError, getNumber, UsageError } from '../command.ts';
import { connectFrom } from '../connection.ts';
import { listPages } from '../list-pages.ts';
import { FILTER_OPTIONS, parseTaskFilter, type TaskFilter, toQuery } from '../task-filter.ts';
import { TASK_COLUMNS, type TaskRow } from '../task-view.ts';

const { status: _, retrying: _retrying, waits: _waits, delayed: _delayed, ...OPTIONS } = FILTER_OPTIONS;
/** A task that fails for good or expires is a dead letter. */
const DEAD: TaskFilter = { status: ['failed', 'expired'] };

const list: Command = {
  name: 'dead-letters list',
  summary: 'List the tasks that failed for good',
  options: { ...OPTIONS, limit: '<n> how many (20)' },
  examples: [
    'parley dead-letters list --error model_error --since 2h',
    'parley dead-letters list --json | jq .[].error.code',
  ],
  run: async ({ options, out }) => {
    const query = toQuery(parseTaskFilter(options));
    const limit = getNumber(options, 'limit') ?? 20;
    const tasks = await listPages<TaskRow>(connectFrom(options), '/v1/dead-letters', 'tasks', query, limit);
    out.table(tasks, TASK_COLUMNS, Object.keys(query).length > 0 ? 'No dead letter matches.' : 'No dead letters.');
  },
};

interface RetryResult {
  id: string;
  status: number;
  code?: string;
  detail?: string;
}

const MAX_RETRIES_PER_CALL = 100;

const retry: Command = {
  name: 'dead-letters retry',
  summary: 'Run dead letters once more: these, all that a filter matches, or the newest',
  args: '[ID …]',
  arity: [0, MAX_RETRIES_PER_CALL],
  options: { ...OPTIONS, ...BULK_OPTIONS, max: '<n> how many of the newest, without ids and filter (20)' },
  examples: [
    'parley dead-letters retry 5f0c1c9e-…',
    "parley dead-letters retry --error model_error --reason 'the model is back'",
    'parley dead-letters retry --domain security --since 1d --dry-run',
  ],
  run: async ({ args, options, out, signal }) => {
    const parley = connectFrom(options);
    const filter = parseTaskFilter(options);
    if (Object.keys(filter).length > 0) {
      if (args.length > 0) throw new UsageError('parley dead-letters retry takes ids or a filter, not both.');
      await changeAll(parley, 'retry', { ...filter, ...DEAD }, { options, out, signal });
      return;
    }
    if (options['dry-run']) throw new UsageError('--dry-run goes with a filter, such as --error or --domain.');
    const body = args.length > 0 ? { ids: args } : { max: getNumber(options, 'max') ?? 20 };
    const { results } = await parley.call<{ results: RetryResult[] }>('POST', '/v1/dead-letters/retry', { body });
    out.table(
      results,
      [
        { title: 'id', value: ({ id }) => id },
        { title: 'result', value: ({ status, code }) => (status < 400 ? 'queued' : (code ?? status)) },
      ],
      'No dead letters.',
    );
    if (results.some(({ status }) => status >= 400)) throw new ExitError(EXIT.rejected);
  },
};

export { list, retry };
