import { type Command, EXIT, ExitError, getNumber } from '../command.ts';
import { connectFrom } from '../connection.ts';
import { TASK_COLUMNS, type TaskRow } from '../task-view.ts';

const list: Command = {
  name: 'dead-letters list',
  summary: 'List the tasks that failed for good',
  options: { limit: '<n> how many (20)' },
  examples: ['parley dead-letters list', 'parley dead-letters list --json | jq .[].error.code'],
  run: async ({ options, out }) => {
    const limit = getNumber(options, 'limit') ?? 20;
    const { tasks } = await connectFrom(options).call<{ tasks: TaskRow[] }>('GET', '/v1/dead-letters', {
      query: { limit },
    });
    out.table(tasks, TASK_COLUMNS, 'No dead letters.');
  },
};

interface RetryResult {
  id: string;
  status: number;
  body: { code?: string; detail?: string };
}

const retry: Command = {
  name: 'dead-letters retry',
  summary: 'Run dead letters once more',
  args: '[ID …]',
  arity: [0, 100],
  options: { max: '<n> how many of the newest, without ids (20)' },
  examples: ['parley dead-letters retry', 'parley dead-letters retry 5f0c1c9e-…'],
  run: async ({ args, options, out }) => {
    const body = args.length > 0 ? { ids: args } : { max: getNumber(options, 'max') ?? 20 };
    const { results } = await connectFrom(options).call<{ results: RetryResult[] }>('POST', '/v1/dead-letters/retry', {
      body,
    });
    out.table(
      results,
      [
        { title: 'id', value: ({ id }) => id },
        { title: 'result', value: ({ status, body: said }) => (status < 400 ? 'queued' : (said.code ?? status)) },
      ],
      'No dead letters.',
    );
    if (results.some(({ status }) => status >= 400)) throw new ExitError(EXIT.rejected);
  },
};

export { list, retry };
