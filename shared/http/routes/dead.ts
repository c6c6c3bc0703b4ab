import * as z from 'zod';
import type { Caller } from '../../agents/authenticate.ts';
import type { Deps } from '../../deps.ts';
import { CODES } from '../../errors.ts';
import { canonicalId } from '../../ids.ts';
import { listTasks } from '../../tasks/list-tasks.ts';
import { retryTask } from '../../tasks/steer.ts';
import { viewOf } from '../../tasks/task-view.ts';
import { tellable } from '../problem.ts';
import { noBody, noQuery, type Route, route } from '../route.ts';
import { page, Tasks } from './task-page.ts';

const MOST_AT_ONCE = 100;

const Retried = z.object({
  id: z.string(),
  status: z.number(),
  code: z.string().optional(),
  detail: z.string().optional(),
});

export const deadRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/dead',
    summary: 'The dead letters: tasks that failed for good, newest first',
    query: z.strictObject(page),
    body: noBody,
    answers: { 200: { description: 'A page; with a cursor, there may be more', schema: Tasks } },
    handle: async ({ deps, caller, query }) => {
      const { tasks, cursor } = await listTasks(deps, caller, { ...query, status: 'failed' });
      return { status: 200, body: { tasks: tasks.map(viewOf), cursor } };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/dead/retry',
    summary: 'Run dead letters again: those that are named, or else the newest',
    query: noQuery,
    body: z
      .strictObject({
        ids: z.array(z.string().min(1).max(128)).min(1).max(MOST_AT_ONCE).optional(),
        max: z.number().int().min(1).max(MOST_AT_ONCE).default(20).describe('how many, where none are named'),
      })
      .prefault({}),
    answers: { 200: { description: 'What became of each', schema: z.object({ results: z.array(Retried) }) } },
    handle: async ({ deps, caller, body }) => {
      const ids = body.ids?.map(canonicalId) ?? (await newest(deps, caller, body.max));
      const results = await Promise.all([...new Set(ids)].map((id) => retried(deps, caller, id)));
      return { status: 200, body: { results } };
    },
  }),
];

const newest = async (deps: Deps, caller: Caller, limit: number): Promise<string[]> => {
  const { tasks } = await listTasks(deps, caller, { status: 'failed', limit });
  return tasks.map(({ id }) => id);
};

/** One that cannot be run again must not keep the others from it. */
const retried = async (deps: Deps, caller: Caller, id: string): Promise<z.output<typeof Retried>> => {
  try {
    await retryTask(deps, caller, id);
    return { id, status: 202 };
  } catch (error) {
    const { code, message, cause } = tellable(error);
    if (code === 'internal')
      deps.log('error', 'a dead letter could not be run again', { taskId: id, cause: String(cause) });
    return { id, status: CODES[code], code, detail: message };
  }
};
