import * as z from 'zod';
import { encodeOutcome, encodeReport } from '../../dialects/task-format/encode.ts';
import { pickSchema, TaskRequest } from '../../dialects/task-format/schema.ts';
import { taskFormatDialect } from '../../dialects/task-format/task-format.ts';
import { resolveActor } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { getPausedQueues } from '../../identity/queue-pauses.ts';
import { ingestMessage } from '../../ingest/ingest-message.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { CLIENT_ID, CLIENT_ID_RULE, toCanonicalId } from '../../kernel/ids.ts';
import { toObjectOrEmpty } from '../../kernel/json/json.ts';
import { jsonObject, jsonValue } from '../../kernel/json/parse-or-throw.ts';
import { buildOutcome } from '../../model/delivery.ts';
import type { HistoryEntry } from '../../model/history.ts';
import { isOpen, type Task } from '../../model/task.ts';
import { PRIORITIES } from '../../ports/queues.ts';
import { answerTask } from '../../tasks/commands/answer-task.ts';
import { cancelTask, releaseTask, renewLease, retryTask } from '../../tasks/commands/manage-task.ts';
import { rerunTask } from '../../tasks/commands/rerun-task.ts';
import { findBlocks } from '../../tasks/limits/limit-states.ts';
import { canReadTask } from '../../tasks/queries/can-read-task.ts';
import { getTask, isInProgress } from '../../tasks/queries/get-task.ts';
import { buildTaskQuery } from '../../tasks/queries/list-tasks.ts';
import {
  encodeTask,
  loadTaskView,
  TaskView,
  toLimitBlockView,
  toPausedQueueView,
  toTaskView,
} from '../../tasks/queries/task-view.ts';
import { defineRoute, largeBodyLimit, type Route, waitQuery } from '../route.ts';
import { artifactRoutes } from './artifacts.ts';
import { changeBody, leaseSeconds, NoticesView, onBehalfOf, toLeaseMs } from './common-fields.ts';
import { deadLetterRoutes } from './dead-letters.ts';
import { LIST_DESCRIPTION, listQuery, loadPage } from './list-query.ts';
import { resolveTaskId } from './resolve-task-id.ts';
import { stepRoutes } from './steps.ts';
import { taskFilterQuery } from './task-filter.ts';
import { TaskPageView } from './task-page.ts';

/** The dialect itself checks it, as any message. */
const TaskFormatRequest = jsonObject.meta({ $ref: `#/components/schemas/${taskFormatDialect.name}` });

const notFound = { 404: { description: 'No such task' } };

/** Whoever asked in the task format reads the response as its agent wrote it, with what Parley knows beside it. */
const buildTaskView = async (deps: Deps, task: Task, entries: HistoryEntry[]): Promise<object> => {
  const view = await loadTaskView(deps, task, entries);
  if (task.dialect !== taskFormatDialect.name || (isOpen(task) && !task.progress)) return view;
  const { metadata, error = view.error } = isOpen(task)
    ? encodeReport(task)
    : encodeOutcome(buildOutcome(task, task.from), undefined, undefined);
  return { ...view, metadata: { ...view.metadata, ...toObjectOrEmpty(metadata) }, error: view.error && error };
};

export const taskRoutes: Route[] = [
  defineRoute({
    operationId: 'listTasks',
    method: 'GET',
    path: '/v1/tasks',
    summary: 'List tasks, newest first',
    query: z.strictObject({ ...taskFilterQuery, ...listQuery }),
    responses: { 200: { description: LIST_DESCRIPTION, schema: TaskPageView } },
    handle: async ({ deps, caller, query }) => {
      const { found, count, cursor } = await loadPage(deps, buildTaskQuery(caller, query), query);
      const paused = await getPausedQueues(deps, caller.project);
      const readable = found.filter((task) => canReadTask(caller, task));
      const blocks = await findBlocks(deps, caller.project, readable);
      const tasks = readable.map((task) =>
        Object.assign(toTaskView(task), {
          pausedQueue: toPausedQueueView(paused, task),
          waitsForLimit: toLimitBlockView(blocks.get(task.id)),
        }),
      );
      return { status: 200, body: { tasks, count, cursor } };
    },
  }),
  defineRoute({
    operationId: 'requestTask',
    method: 'POST',
    path: '/v1/tasks',
    summary:
      'Request a task with a Task Format message. With `wait`, the response comes when the task ends or asks for input',
    bodyBytes: largeBodyLimit,
    ingress: 'each',
    query: z.strictObject({ wait: waitQuery }),
    body: TaskFormatRequest,
    responses: {
      200: { description: 'The task has ended, or asks for input', schema: TaskView.extend(NoticesView.shape) },
      202: {
        description: 'Accepted and durable. The task is pending or in progress',
        schema: TaskView.extend(NoticesView.shape),
      },
    },
    handle: async ({ deps, caller, query, body, signed, trace, request, longPoll }) => {
      if (pickSchema(body) !== TaskRequest || body.status !== undefined) {
        throw new ParleyError(
          'invalid_message',
          'This call takes requests. Responses, answers and signals go to /v1/messages.',
        );
      }
      const signal = longPoll.startWait(query.wait);
      const { taskId: id, notices } = await ingestMessage(
        deps,
        { caller, trace, dialect: taskFormatDialect.name, signed },
        body,
      );
      if (id === undefined) throw new Error('a request always has a task');
      request.addLogFields?.({ taskId: id });
      const { task, entries } = await getTask(deps, caller, id, query.wait, signal);
      return {
        status: isInProgress(task) ? 202 : 200,
        body: { ...(await buildTaskView(deps, task, entries)), notices },
      };
    },
  }),
  defineRoute({
    operationId: 'getTask',
    method: 'GET',
    path: '/v1/tasks/{id}',
    summary:
      'Get a task with its result and timeline. With `wait`, the response comes when the task ends or asks for input',
    query: z.strictObject({
      wait: waitQuery,
      dialect: z
        .string()
        .max(64)
        .optional()
        .describe('respond with the newest message about the task, in this dialect'),
    }),
    responses: {
      200: {
        description: 'The task; with `dialect`, the newest message about it',
        schema: z.union([TaskView, z.looseObject({}).describe('in the requested dialect')]),
      },
      ...notFound,
    },
    handle: async ({ deps, caller, params, query, request, longPoll }) => {
      const id = await resolveTaskId(deps, caller, { params, request });
      const { task, entries } = await getTask(deps, caller, id, query.wait, longPoll.startWait(query.wait));
      const body =
        query.dialect === undefined
          ? await buildTaskView(deps, task, entries)
          : await encodeTask(deps, task, query.dialect);
      return { status: 200, body };
    },
  }),
  defineRoute({
    operationId: 'cancelTask',
    method: 'POST',
    path: '/v1/tasks/{id}/cancel',
    scope: 'operate',
    summary: 'Cancel a task',
    body: changeBody,
    responses: {
      200: { description: 'The cancelled task', schema: TaskView },
      ...notFound,
      409: { description: 'The task has ended' },
    },
    handle: async ({ deps, caller, body, ...call }) => ({
      status: 200,
      body: toTaskView(await cancelTask(deps, caller, await resolveTaskId(deps, caller, call), body.reason)),
    }),
  }),
  defineRoute({
    operationId: 'answerTask',
    method: 'POST',
    path: '/v1/tasks/{id}/input',
    scope: 'operate',
    summary: 'Answer the question of the holder. The task then continues',
    bodyBytes: largeBodyLimit,
    body: z.strictObject({ input: jsonValue }),
    responses: {
      200: { description: 'A duplicate: the same answer had been given before', schema: TaskView },
      202: { description: 'The task, which continues', schema: TaskView },
      ...notFound,
      409: { description: 'The task waits for no input' },
    },
    handle: async ({ deps, caller, body, ...call }) => {
      const { duplicate, task } = await answerTask(deps, caller, await resolveTaskId(deps, caller, call), body.input);
      return { status: duplicate ? 200 : 202, body: toTaskView(task) };
    },
  }),
  defineRoute({
    operationId: 'retryTask',
    method: 'POST',
    path: '/v1/tasks/{id}/retry',
    scope: 'operate',
    summary: 'Retry a failed or expired task',
    body: changeBody,
    responses: {
      202: { description: 'The queued task', schema: TaskView },
      ...notFound,
      409: { description: 'The task has not failed or expired' },
    },
    handle: async ({ deps, caller, body, ...call }) => ({
      status: 202,
      body: toTaskView(await retryTask(deps, caller, await resolveTaskId(deps, caller, call), body.reason)),
    }),
  }),
  defineRoute({
    operationId: 'rerunTask',
    method: 'POST',
    path: '/v1/tasks/{id}/rerun',
    scope: 'operate',
    summary: 'Run a task that has ended again, with the same or another input, as a new task',
    bodyBytes: largeBodyLimit,
    body: z
      .strictObject({
        id: z.string().regex(CLIENT_ID, CLIENT_ID_RULE).overwrite(toCanonicalId).optional().describe('of the new task'),
        input: jsonValue.optional().describe('by default that of the old task'),
        priority: z.enum(PRIORITIES).optional().describe('by default that of the old task'),
      })
      .prefault({}),
    responses: {
      200: { description: 'A duplicate: the task with this `id` had been accepted before', schema: TaskView },
      202: { description: 'The new task. Its `rerunOf` is the old one', schema: TaskView.extend(NoticesView.shape) },
      ...notFound,
      409: { description: 'The task is still open' },
    },
    handle: async ({ deps, caller, body, trace, makeId, ...call }) => {
      const id = await resolveTaskId(deps, caller, call);
      const { duplicate, task, notices } = await rerunTask(deps, caller, id, { ...body, trace, makeId });
      return { status: duplicate ? 200 : 202, body: { ...toTaskView(task), notices } };
    },
  }),
  defineRoute({
    operationId: 'renewLease',
    method: 'POST',
    path: '/v1/tasks/{id}/renew',
    summary: 'Renew the lease of a claimed task',
    ingress: 'none',
    body: z
      .strictObject({
        agent: onBehalfOf,
        attempt: z.number().int().min(1).optional(),
        lease: leaseSeconds.describe('a longer lease in seconds, also for later renewals; at most `tasks.maxLeaseMs`'),
      })
      .prefault({}),
    responses: {
      200: { description: 'The task with its new lease', schema: TaskView },
      ...notFound,
      409: { description: 'The caller does not hold the task' },
    },
    handle: async ({ deps, caller, body, ...call }) => {
      const holder = await resolveActor(deps, caller, body.agent);
      const { attempt } = body;
      const leaseMs = toLeaseMs(deps, body.lease);
      const id = await resolveTaskId(deps, caller, call);
      return { status: 200, body: toTaskView(await renewLease(deps, holder, id, { attempt, leaseMs })) };
    },
  }),
  defineRoute({
    operationId: 'releaseTask',
    method: 'POST',
    path: '/v1/tasks/{id}/release',
    scope: 'operate',
    summary:
      'Release a claimed task to its queue. The attempt does not count. Only the holder and admin keys may do this',
    body: z.strictObject({ agent: onBehalfOf, attempt: z.number().int().min(1).optional() }).prefault({}),
    responses: {
      200: { description: 'The queued task', schema: TaskView },
      ...notFound,
      409: { description: 'The caller does not hold the task' },
    },
    handle: async ({ deps, caller, body, ...call }) => {
      const isFromAnybody = caller.role === 'admin' && body.agent === undefined;
      const holder = isFromAnybody ? undefined : await resolveActor(deps, caller, body.agent);
      const id = await resolveTaskId(deps, caller, call);
      return { status: 200, body: toTaskView(await releaseTask(deps, caller, holder, id, body.attempt)) };
    },
  }),
  ...deadLetterRoutes,
  ...artifactRoutes,
  ...stepRoutes,
];
