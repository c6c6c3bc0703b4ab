import * as z from 'zod';
import { decode } from '../../dialects/native/decode.ts';
import { nativeDialect } from '../../dialects/native/native.ts';
import { Request } from '../../dialects/native/schema.ts';
import { resolveActor } from '../../identity/auth/authenticate.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { toJsonObject } from '../../kernel/json/json.ts';
import { MISSED_POLICIES, SCHEDULE_STATUSES, type TaskSchedule } from '../../model/schedule.ts';
import { toIso } from '../../ports/clock.ts';
import { TaskView, toTaskView } from '../../tasks/queries/task-view.ts';
import { listNextRuns, parseCron } from '../../workflows/schedules/cron.ts';
import {
  buildScheduleQuery,
  getSchedule,
  pauseSchedule,
  putSchedule,
  removeSchedule,
  resumeSchedule,
  runScheduleNow,
} from '../../workflows/schedules/manage-schedules.ts';
import { defineRoute, type Route, recordBodyLimit } from '../route.ts';
import { onBehalfOf } from './common-fields.ts';
import { agentName, commaSeparated, LIST_DESCRIPTION, listPageShape, listQuery, loadPage } from './list-query.ts';

const NEXT_RUNS = 5;
const SCHEDULE_ID = /^[A-Za-z0-9][\w.-]{0,63}$/;

const ScheduledTask = Request.omit({
  kind: true,
  id: true,
  from: true,
  notBefore: true,
  parent: true,
  dependencies: true,
  onFailure: true,
});

const ScheduleView = z
  .object({
    scheduleId: z.string(),
    from: z.string().describe('the requester of its tasks'),
    cron: z.string(),
    task: z.looseObject({ capability: z.string() }),
    missed: z.enum(MISSED_POLICIES),
    status: z.enum(SCHEDULE_STATUSES),
    nextRuns: z.array(z.iso.datetime()).describe('the next five; none while it is paused'),
    runs: z.number(),
    skipped: z.number().describe('times at which missed runs were left out'),
    lastRunAt: z.iso.datetime().optional(),
    lastTaskId: z.string().optional(),
    lastError: z.object({ code: z.string(), message: z.string() }).optional().describe('why the last run has no task'),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Schedule' });

const toScheduleView = (schedule: TaskSchedule): z.output<typeof ScheduleView> => {
  const { id, from, cron, task, missed, status, nextRunAt, runCount, skippedCount } = schedule;
  const next = nextRunAt === undefined ? [] : listNextRuns(parseCron(cron), nextRunAt - 1, NEXT_RUNS);
  return {
    scheduleId: id,
    from,
    cron,
    task: { ...task, capability: schedule.command.capability },
    ...{ missed, status, nextRuns: next.map((at) => toIso(at)), runs: runCount, skipped: skippedCount },
    lastRunAt: toIso(schedule.lastRunAt),
    lastTaskId: schedule.lastTaskId,
    lastError: schedule.lastError,
    createdAt: toIso(schedule.createdAt),
  };
};

const notFound = { 404: { description: 'No such schedule' } };
const found = { 200: { description: 'The schedule', schema: ScheduleView }, ...notFound };

export const scheduleRoutes: Route[] = [
  defineRoute({
    operationId: 'listSchedules',
    method: 'GET',
    path: '/v1/schedules',
    summary: 'List schedules, newest first',
    query: z.strictObject({
      status: commaSeparated(SCHEDULE_STATUSES).optional(),
      requester: agentName.optional(),
      ...listQuery,
    }),
    responses: {
      200: {
        description: LIST_DESCRIPTION,
        schema: z.object({ schedules: z.array(ScheduleView), ...listPageShape }),
      },
    },
    handle: async ({ deps, caller, query }) => {
      const page = await loadPage(deps, buildScheduleQuery(caller, query), query);
      const { count, cursor } = page;
      return { status: 200, body: { schedules: page.found.map(toScheduleView), count, cursor } };
    },
  }),
  defineRoute({
    operationId: 'putSchedule',
    method: 'PUT',
    path: '/v1/schedules/{id}',
    summary: 'Create or replace a schedule, which requests a task at each of its times',
    bodyBytes: recordBodyLimit,
    body: z.strictObject({
      agent: onBehalfOf,
      cron: z.string().min(9).max(200).describe('five fields in UTC, such as `0 6 * * 1-5`'),
      task: ScheduledTask.describe('a native request, without id and sender'),
      missed: z
        .enum(MISSED_POLICIES)
        .default('once')
        .describe('what becomes of runs that an outage swallowed: none, one for all, or each of the last 7 days'),
      status: z.enum(SCHEDULE_STATUSES).default('active'),
    }),
    responses: {
      200: { description: 'The changed schedule', schema: ScheduleView },
      201: { description: 'The new schedule', schema: ScheduleView },
      409: { description: 'The schedule of another agent has the id' },
      422: { description: 'An agent or a domain is unknown' },
    },
    handle: async ({ deps, caller, params: { id = '' }, body }) => {
      if (!SCHEDULE_ID.test(id))
        throw new ParleyError('invalid_request', 'A schedule id has 1 to 64 of letters, digits, "_", "-" and ".".');
      const { agent } = await resolveActor(deps, caller, body.agent);
      const wire = { ...toJsonObject(body.task), kind: 'request', id: uuidFromSeed(['schedule', id]), from: agent.id };
      const command = decode(wire, deps.config, agent.id);
      if (command.kind !== 'request') throw new Error('a schedule makes requests');
      const { cron, missed, status } = body;
      const wanted = { id, from: agent.id, cron, missed, status, command, task: toJsonObject(body.task) };
      const { isNew, schedule } = await putSchedule(deps, caller, { ...wanted, dialect: nativeDialect.name });
      return { status: isNew ? 201 : 200, body: toScheduleView(schedule) };
    },
  }),
  defineRoute({
    operationId: 'getSchedule',
    method: 'GET',
    path: '/v1/schedules/{id}',
    summary: 'Get a schedule with its next times',
    responses: found,
    handle: async ({ deps, caller, params: { id = '' } }) => ({
      status: 200,
      body: toScheduleView(await getSchedule(deps, caller, id)),
    }),
  }),
  defineRoute({
    operationId: 'pauseSchedule',
    method: 'POST',
    path: '/v1/schedules/{id}/pause',
    scope: 'operate',
    summary: 'Pause a schedule',
    responses: found,
    handle: async ({ deps, caller, params: { id = '' } }) => ({
      status: 200,
      body: toScheduleView(await pauseSchedule(deps, caller, id)),
    }),
  }),
  defineRoute({
    operationId: 'resumeSchedule',
    method: 'POST',
    path: '/v1/schedules/{id}/resume',
    scope: 'operate',
    summary: 'Resume a paused schedule. Runs of the pause are not made up for',
    responses: found,
    handle: async ({ deps, caller, params: { id = '' } }) => ({
      status: 200,
      body: toScheduleView(await resumeSchedule(deps, caller, id)),
    }),
  }),
  defineRoute({
    operationId: 'runSchedule',
    method: 'POST',
    path: '/v1/schedules/{id}/run',
    scope: 'operate',
    summary: 'Request the task of a schedule now, beside its times',
    responses: { 202: { description: 'The task', schema: TaskView }, ...notFound },
    handle: async ({ deps, caller, params: { id = '' }, makeId }) => ({
      status: 202,
      body: toTaskView(await runScheduleNow(deps, caller, id, makeId())),
    }),
  }),
  defineRoute({
    operationId: 'removeSchedule',
    method: 'DELETE',
    path: '/v1/schedules/{id}',
    summary: 'Remove a schedule. Its tasks stay',
    responses: { 204: { description: 'Removed' }, ...notFound },
    handle: async ({ deps, caller, params: { id = '' } }) => {
      await removeSchedule(deps, caller, id);
      return { status: 204 };
    },
  }),
];
