import * as z from 'zod';
import { agentBehind } from '../../agents/authenticate.ts';
import type { Deps } from '../../deps.ts';
import { encodeOutcome, encodeReport } from '../../dialects/task-format/encode.ts';
import { taskFormat } from '../../dialects/task-format/task-format.ts';
import { ParleyError } from '../../errors.ts';
import { outcomeOf } from '../../inbox/delivery.ts';
import { jsonObject, jsonValue } from '../../json/checked.ts';
import { objectIn } from '../../json/json.ts';
import { receive } from '../../messages/receive.ts';
import { answerTask } from '../../tasks/answer-task.ts';
import type { HistoryEntry } from '../../tasks/history.ts';
import { listTasks } from '../../tasks/list-tasks.ts';
import { isUnderWay, lookUp } from '../../tasks/look-up.ts';
import { cancelTask, renewLease, retryTask } from '../../tasks/steer.ts';
import { isOpen, STATUSES, type Task } from '../../tasks/task.ts';
import { fullView, inDialect, TaskView, viewOf } from '../../tasks/task-view.ts';
import { noBody, noQuery, type Route, route, SOUGHT_PAGE, signalFor, waitUpTo } from '../route.ts';
import { speaksFor } from './agent-fields.ts';
import { artifactRoutes } from './artifacts.ts';
import { deadRoutes } from './dead.ts';
import { taskId } from './task-id.ts';
import { page, Tasks } from './task-page.ts';

/** The dialect itself checks it, as any message. */
const TaskFormatRequest = jsonObject.meta({ $ref: `#/components/schemas/${taskFormat.name}` });

const notFound = { 404: { description: 'No such task' } };

/** Whoever asked in the task format reads the response as its agent wrote it, with what Parley knows beside it. */
const shown = async (deps: Deps, task: Task, entries: HistoryEntry[]): Promise<object> => {
  const view = await fullView(deps, task, entries);
  if (task.dialect !== taskFormat.name || (isOpen(task) && !task.progress)) return view;
  const { metadata, error = view.error } = isOpen(task)
    ? encodeReport(task)
    : encodeOutcome(outcomeOf(task, task.from), undefined, undefined);
  return { ...view, metadata: { ...view.metadata, ...objectIn(metadata) }, error: view.error && error };
};

export const taskRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/v1/tasks',
    summary: 'Tasks, newest first',
    query: z.strictObject({
      status: z.enum(STATUSES).optional(),
      domain: z.string().max(64).optional(),
      agent: z
        .string()
        .max(64)
        .optional()
        .describe(
          'who asked for it, was named in it, or holds it; with a status in which tasks are held, first what it holds',
        ),
      conversation: z.string().max(256).optional(),
      ...page,
    }),
    body: noBody,
    answers: { 200: { description: SOUGHT_PAGE, schema: Tasks } },
    handle: async ({ deps, caller, query }) => {
      const { tasks, cursor } = await listTasks(deps, caller, query);
      return { status: 200, body: { tasks: tasks.map(viewOf), cursor } };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/tasks',
    summary: 'Ask for a task in the task format; with wait, the answer comes when it has ended or asks for input',
    query: z.strictObject({ wait: waitUpTo(25) }),
    body: TaskFormatRequest,
    answers: {
      200: { description: 'It has ended, or asks for input', schema: TaskView },
      202: { description: 'Accepted, and on disk; it is pending or in progress', schema: TaskView },
    },
    handle: async ({ deps, caller, query, body, trace, request }) => {
      if (body.status !== undefined || (body.input !== undefined && body.type === undefined)) {
        throw new ParleyError('invalid_message', 'This call takes requests. Responses and answers go to /v1/messages.');
      }
      const { taskId: id } = await receive(deps, { caller, trace, dialect: taskFormat.name }, body);
      if (id === undefined) throw new Error('a request always has a task');
      request.note?.({ taskId: id });
      const { task, entries } = await lookUp(deps, caller, id, query.wait, signalFor(query.wait, request));
      return { status: isUnderWay(task) ? 202 : 200, body: await shown(deps, task, entries) };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/tasks/{id}',
    summary: 'One task with its result and history; with wait, as soon as it has ended or asks for input',
    query: z.strictObject({
      wait: waitUpTo(25),
      dialect: z.string().max(64).optional().describe('answers with the newest message about it, in this dialect'),
    }),
    body: noBody,
    answers: {
      200: {
        description: 'The task; with a dialect, the newest message about it',
        schema: z.union([TaskView, z.looseObject({}).describe('in the dialect that was asked for')]),
      },
      ...notFound,
    },
    handle: async ({ deps, caller, params, query, request }) => {
      const id = await taskId(deps, caller, { params, request });
      const { task, entries } = await lookUp(deps, caller, id, query.wait, signalFor(query.wait, request));
      const body =
        query.dialect === undefined ? await shown(deps, task, entries) : await inDialect(deps, task, query.dialect);
      return { status: 200, body };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/tasks/{id}/cancel',
    summary: 'End a task that is no longer wanted',
    query: noQuery,
    body: noBody,
    answers: {
      200: { description: 'The task, cancelled', schema: TaskView },
      ...notFound,
      409: { description: 'It has ended' },
    },
    handle: async ({ deps, caller, ...call }) => ({
      status: 200,
      body: viewOf(await cancelTask(deps, caller, await taskId(deps, caller, call))),
    }),
  }),
  route({
    method: 'POST',
    path: '/v1/tasks/{id}/input',
    summary: 'Answer what the agent asks, so that it goes on',
    query: noQuery,
    body: z.strictObject({ input: jsonValue }),
    answers: {
      200: { description: 'The very same answer had been given before', schema: TaskView },
      202: { description: 'The task, which goes on', schema: TaskView },
      ...notFound,
      409: { description: 'It waits for no input' },
    },
    handle: async ({ deps, caller, body, ...call }) => {
      const { duplicate, task } = await answerTask(deps, caller, await taskId(deps, caller, call), body.input);
      return { status: duplicate ? 200 : 202, body: viewOf(task) };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/tasks/{id}/retry',
    summary: 'Run a failed or expired task again',
    query: noQuery,
    body: noBody,
    answers: {
      202: { description: 'The task, queued again', schema: TaskView },
      ...notFound,
      409: { description: 'It has not failed' },
    },
    handle: async ({ deps, caller, ...call }) => ({
      status: 202,
      body: viewOf(await retryTask(deps, caller, await taskId(deps, caller, call))),
    }),
  }),
  route({
    method: 'POST',
    path: '/v1/tasks/{id}/renew',
    summary: 'Hold a claimed task for another lease',
    query: noQuery,
    body: z.strictObject({ agent: speaksFor, attempt: z.number().int().min(1).optional() }).prefault({}),
    answers: {
      200: { description: 'The task with its new lease', schema: TaskView },
      ...notFound,
      409: { description: 'It is held by somebody else, or by nobody' },
    },
    handle: async ({ deps, caller, body, ...call }) => {
      const holder = await agentBehind(deps, caller, body.agent);
      return {
        status: 200,
        body: viewOf(await renewLease(deps, holder, await taskId(deps, caller, call), body.attempt)),
      };
    },
  }),
  ...deadRoutes,
  ...artifactRoutes,
];
