import * as z from 'zod';
import { loadA2aTask } from '../../../adapters/a2a/task-view.ts';
import { A2aId, TASK_STATES } from '../../../dialects/a2a/schema.ts';
import { toTaskState } from '../../../dialects/a2a/states.ts';
import { getCallerName } from '../../../identity/auth/authenticate.ts';
import { ParleyError } from '../../../kernel/errors.ts';
import type { JsonObject } from '../../../kernel/json/json.ts';
import { parseOrThrow } from '../../../kernel/json/parse-or-throw.ts';
import { type HistoryEntry, hasHistory, MAX_HISTORY_ENTRIES } from '../../../model/history.ts';
import { type Task, taskRef } from '../../../model/task.ts';
import { LIST_CURSOR } from '../../../ports/lists.ts';
import { cancelTask } from '../../../tasks/commands/manage-task.ts';
import { buildListingQuery } from '../../../tasks/queries/list-by-change.ts';
import { type A2aCall, findTask } from './call.ts';
import { A2aError } from './errors.ts';

/** In a query everything is text. */
const wholeNumber = (least: number, most: number) =>
  z.preprocess(
    (value) => (typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value),
    z.number().int().min(least).max(most),
  );
const flag = z.preprocess((value) => (value === 'true' ? true : value === 'false' ? false : value), z.boolean());
const historyLength = wholeNumber(0, 2_147_483_647).optional();

const GetTaskRequest = z.object({ id: A2aId, historyLength });
const TaskIdRequest = z.object({ id: A2aId });

const ListTasksRequest = z.object({
  contextId: z
    .string()
    .max(256)
    .transform((id) => (id === '' ? undefined : id))
    .optional(),
  status: z
    .enum(['TASK_STATE_UNSPECIFIED', ...TASK_STATES])
    .transform((state) => (state === 'TASK_STATE_UNSPECIFIED' ? undefined : state))
    .optional(),
  pageSize: z.preprocess((size) => (size === 0 || size === '0' ? undefined : size), wholeNumber(1, 100).default(50)),
  pageToken: z.string().max(64).default(''),
  historyLength: historyLength.default(0),
  statusTimestampAfter: z.iso
    .datetime({ offset: true })
    .transform((text) => Date.parse(text))
    .optional(),
  includeArtifacts: flag.default(false),
});

export const parseParams = <T>(schema: z.ZodType<T>, params: JsonObject): T =>
  parseOrThrow(schema, params, 'invalid_request', 'The request');

export const parseTaskId = (params: JsonObject): string => parseParams(TaskIdRequest, params).id;

export const answerGetTask = async (call: A2aCall, params: JsonObject): Promise<JsonObject> => {
  const { id, historyLength: length } = parseParams(GetTaskRequest, params);
  const { task, entries } = await findTask(call, id);
  return loadA2aTask(call.deps, task, entries, { historyLength: length });
};

export const answerListTasks = async (call: A2aCall, params: JsonObject): Promise<JsonObject> => {
  const { deps, caller, agent } = call;
  const asked = parseParams(ListTasksRequest, params);
  const { contextId, status, pageSize, pageToken, statusTimestampAfter, includeArtifacts } = asked;
  if (pageToken !== '' && !LIST_CURSOR.test(pageToken))
    throw new A2aError('INVALID_PARAMS', 'pageToken is not one that an earlier page gave.');
  const query = buildListingQuery(caller.project, {
    // An admin key asks for nothing.
    requester: getCallerName(caller),
    address: agent?.id,
    status,
    conversation: contextId,
    since: statusTimestampAfter,
  });
  const [page, count] = await Promise.all([
    deps.records.list(query, { after: pageToken === '' ? undefined : pageToken, limit: pageSize }),
    deps.records.count(query),
  ]);
  const found = await deps.records.getMany(page.records.map(({ id }) => taskRef(caller.project, id)));
  const tasks = page.records.flatMap(({ id }) => found.find((task) => task.id === id) ?? []);
  const views = tasks.map(async (task) =>
    loadA2aTask(deps, task, asked.historyLength > 0 ? await listEntries(call, task) : [], {
      historyLength: asked.historyLength,
      hasArtifacts: includeArtifacts,
    }),
  );
  const shown = await Promise.all(views);
  return {
    tasks: includeArtifacts ? shown : shown.map(({ artifacts: _left, ...task }) => task),
    nextPageToken: page.cursor ?? '',
    pageSize,
    totalSize: count.value,
  };
};

const listEntries = async ({ deps }: A2aCall, task: Task): Promise<HistoryEntry[]> =>
  hasHistory(task)
    ? await deps.records.query<HistoryEntry>({ pk: task.pk, prefix: 'history#', limit: MAX_HISTORY_ENTRIES })
    : [];

export const answerCancelTask = async (call: A2aCall, params: JsonObject): Promise<JsonObject> => {
  const id = parseTaskId(params);
  const { task, entries } = await findTask(call, id);
  const { deps, caller } = call;
  if (toTaskState(task) === 'TASK_STATE_CANCELED') return loadA2aTask(deps, task, entries);
  try {
    await cancelTask(deps, caller, id);
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== 'task_ended') throw error;
    throw new A2aError('TASK_NOT_CANCELABLE', `The task ${id} has ended.`, { taskId: id });
  }
  const cancelled = await findTask(call, id);
  return loadA2aTask(deps, cancelled.task, cancelled.entries);
};
