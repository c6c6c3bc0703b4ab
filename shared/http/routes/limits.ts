import * as z from 'zod';
import { ParleyError } from '../../kernel/errors.ts';
import { LIMIT_KEY, LIMIT_KEY_RULE, MAX_CONCURRENCY, MAX_RATE_SECONDS, MAX_STARTS } from '../../model/limit.ts';
import { toIso } from '../../ports/clock.ts';
import { removeLimit, setLimit } from '../../registration/set-limit.ts';
import { getLimitState, type LimitState, listLimitStates } from '../../tasks/limits/limit-states.ts';
import { startWaiting } from '../../tasks/limits/start-waiting.ts';
import { boundedCount, defineKeyRoute, type Route } from '../route.ts';

const Rate = z
  .strictObject({
    starts: z.number().int().min(1).max(MAX_STARTS),
    seconds: z.number().int().min(1).max(MAX_RATE_SECONDS),
  })
  .describe('how many tasks of the key start in any stretch of so many seconds');

const LimitView = z
  .object({
    key: z.string(),
    concurrency: z.number().int().optional(),
    rate: Rate.optional(),
    source: z
      .enum(['operator', 'configuration', 'tasks'])
      .describe('who says the numbers. With `tasks`, each task says its own'),
    setBy: z.string().optional(),
    setAt: z.iso.datetime().optional(),
    running: z.number().int().describe('tasks that have a place of this key now'),
    nextStartAt: z.iso.datetime().optional().describe('when the rate lets the next task start, if not now'),
    waiting: z
      .object({ value: z.number().int(), isExact: z.boolean() })
      .describe('unclaimed tasks with this key. It counts to 100'),
    holders: z
      .array(z.object({ taskId: z.string(), agent: z.string().optional(), since: z.iso.datetime().optional() }))
      .describe('who has the places, the first 100'),
  })
  .meta({ id: 'Limit' });

const toLimitView = (state: LimitState): z.output<typeof LimitView> => {
  const { key, rule, isConfigured, running, nextStartAt, waiting, holders } = state;
  return {
    key,
    concurrency: rule?.concurrency,
    rate: rule?.rate,
    source: rule === undefined ? 'tasks' : isConfigured ? 'configuration' : 'operator',
    setBy: rule?.by,
    setAt: toIso(rule?.since),
    running,
    nextStartAt: toIso(nextStartAt),
    waiting,
    holders: holders.map(({ id, holder, claimedAt }) => ({ taskId: id, agent: holder, since: toIso(claimedAt) })),
  };
};

const parseKey = ({ key = '' }: Record<string, string>): string => {
  if (LIMIT_KEY.test(key)) return key;
  throw new ParleyError('invalid_request', `The key of a limit ${LIMIT_KEY_RULE}.`);
};

const found = { 200: { description: 'The limit', schema: LimitView } };

export const limitRoutes: Route[] = [
  defineKeyRoute({
    operationId: 'listLimits',
    method: 'GET',
    path: '/v1/limits',
    access: 'admin',
    scope: 'read',
    summary: 'List the limits that are set, and the keys that tasks named lately, by key',
    query: z.strictObject({
      limit: boundedCount(100, 20),
      cursor: z.string().regex(LIMIT_KEY, 'must be one that an earlier page gave').optional(),
    }),
    responses: {
      200: {
        description: 'A page',
        schema: z.object({ limits: z.array(LimitView), cursor: z.string().optional() }),
      },
    },
    handle: async ({ deps, caller, query: { limit, cursor: after } }) => {
      const { limits, hasMore } = await listLimitStates(deps, caller.project, { after, limit });
      const cursor = hasMore ? limits.at(-1)?.key : undefined;
      return { status: 200, body: { limits: limits.map(toLimitView), cursor } };
    },
  }),
  defineKeyRoute({
    operationId: 'getLimit',
    method: 'GET',
    path: '/v1/limits/{key}',
    access: 'admin',
    scope: 'read',
    summary: 'Get a limit: who has its places, and how many tasks wait',
    responses: found,
    handle: async ({ deps, caller, params }) => ({
      status: 200,
      body: toLimitView(await getLimitState(deps, caller.project, parseKey(params))),
    }),
  }),
  defineKeyRoute({
    operationId: 'setLimit',
    method: 'PUT',
    path: '/v1/limits/{key}',
    access: 'admin',
    scope: 'operate',
    summary:
      'Set a limit, for tasks that name its key, and with `requester:`, `domain:` or `capability:` for all of these',
    body: z
      .strictObject({
        concurrency: z
          .number()
          .int()
          .min(1)
          .max(MAX_CONCURRENCY)
          .optional()
          .describe('how many tasks of the key run at once'),
        rate: Rate.optional(),
      })
      .refine(({ concurrency, rate }) => concurrency !== undefined || rate !== undefined, {
        path: ['concurrency'],
        error: 'must be there, or rate',
      }),
    responses: found,
    handle: async ({ deps, caller, params, body }) => {
      const key = parseKey(params);
      await setLimit(deps, caller, key, body);
      // There may be more room than before.
      await startWaiting(deps, caller.project, key, deps.newId());
      return { status: 200, body: toLimitView(await getLimitState(deps, caller.project, key)) };
    },
  }),
  defineKeyRoute({
    operationId: 'removeLimit',
    method: 'DELETE',
    path: '/v1/limits/{key}',
    access: 'admin',
    scope: 'operate',
    summary: 'Remove a limit that an operator set. What the configuration or a task says holds again',
    responses: { 204: { description: 'Removed, now or before' } },
    handle: async ({ deps, caller, params }) => {
      const key = parseKey(params);
      await removeLimit(deps, caller, key);
      await startWaiting(deps, caller.project, key, deps.newId());
      return { status: 204 };
    },
  }),
];
