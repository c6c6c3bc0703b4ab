import * as z from 'zod';
import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { STATUS_BY_CODE } from '../../kernel/errors.ts';
import { toCanonicalId } from '../../kernel/ids.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import type { TaskFilter } from '../../model/task-filter.ts';
import { retryTask } from '../../tasks/commands/manage-task.ts';
import { canReadTask } from '../../tasks/queries/can-read-task.ts';
import { buildDeadLetterQuery } from '../../tasks/queries/list-tasks.ts';
import { toTaskView } from '../../tasks/queries/task-view.ts';
import { toPublicError } from '../problem.ts';
import { defineRoute, type Route } from '../route.ts';
import { LIST_DESCRIPTION, listQuery, loadPage } from './list-query.ts';
import { DeadLetterFilterBody, deadLetterFilterQuery } from './task-filter.ts';
import { TaskPageView } from './task-page.ts';

const MAX_RETRIES_PER_CALL = 100;

const RetryResult = z
  .object({
    id: z.string(),
    status: z.number(),
    code: z.string().optional(),
    detail: z.string().optional(),
  })
  .meta({ id: 'RetryResult' });

export const deadLetterRoutes: Route[] = [
  defineRoute({
    operationId: 'listDeadLetters',
    method: 'GET',
    path: '/v1/dead-letters',
    summary: 'List the dead letters, the tasks that failed for good or expired. The newest end comes first',
    query: z.strictObject({ ...deadLetterFilterQuery, ...listQuery }),
    responses: { 200: { description: LIST_DESCRIPTION, schema: TaskPageView } },
    handle: async ({ deps, caller, query }) => {
      const { found, count, cursor } = await loadPage(deps, buildDeadLetterQuery(caller, query), query);
      const tasks = found.filter((task) => canReadTask(caller, task)).map(toTaskView);
      return { status: 200, body: { tasks, count, cursor } };
    },
  }),
  defineRoute({
    operationId: 'retryDeadLetters',
    method: 'POST',
    path: '/v1/dead-letters/retry',
    scope: 'operate',
    summary: 'Retry dead letters: those in `ids`, or the newest that the filter matches',
    body: z
      .strictObject({
        ids: boundedArray(z.string().min(1).max(128), { min: 1, max: MAX_RETRIES_PER_CALL }).optional(),
        filter: DeadLetterFilterBody.optional().describe(
          'as in `GET /v1/dead-letters`, if `ids` is absent. `POST /v1/tasks/retry` retries any number',
        ),
        max: z.number().int().min(1).max(MAX_RETRIES_PER_CALL).default(20).describe('how many, if `ids` is absent'),
      })
      .refine(({ ids, filter }) => ids === undefined || filter === undefined, {
        path: ['filter'],
        error: 'must be absent if there are ids',
      })
      .prefault({}),
    responses: { 200: { description: 'One result per item', schema: z.object({ results: z.array(RetryResult) }) } },
    handle: async ({ deps, caller, body }) => {
      const ids = body.ids?.map(toCanonicalId) ?? (await listNewestFailed(deps, caller, body));
      const results = await Promise.all([...new Set(ids)].map((id) => retryFailedTask(deps, caller, id)));
      return { status: 200, body: { results } };
    },
  }),
];

interface WantedRetries {
  filter?: TaskFilter | undefined;
  max: number;
}

const listNewestFailed = async (
  { records }: Deps,
  caller: Caller,
  { filter = {}, max: limit }: WantedRetries,
): Promise<string[]> => {
  const page = await records.list(buildDeadLetterQuery(caller, filter), { limit });
  return page.records.map(({ id }) => id);
};

/** One that cannot be run again must not keep the others from it. */
const retryFailedTask = async (deps: Deps, caller: Caller, id: string): Promise<z.output<typeof RetryResult>> => {
  try {
    await retryTask(deps, caller, id);
    return { id, status: 202 };
  } catch (error) {
    const { code, message, cause } = toPublicError(error);
    if (code === 'internal') deps.log('error', 'dead-letter retry failed', { taskId: id, cause: String(cause) });
    return { id, status: STATUS_BY_CODE[code], code, detail: message };
  }
};
