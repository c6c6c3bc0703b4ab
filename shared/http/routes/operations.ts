import * as z from 'zod';
import { OPERATION_KINDS, OPERATION_STATUSES, type OperationKind } from '../../model/operation.ts';
import { TaskView, toTaskView } from '../../tasks/queries/task-view.ts';
import {
  awaitOperation,
  buildOperationListQuery,
  OperationView,
  toOperationView,
} from '../../workflows/operations/operation-view.ts';
import { previewOperation, startOperation, stopOperation } from '../../workflows/operations/start-operation.ts';
import { defineRoute, type Route, waitQuery } from '../route.ts';
import { changeReason } from './common-fields.ts';
import {
  CountView,
  commaSeparated,
  LIST_DESCRIPTION,
  listPageShape,
  listQuery,
  loadPage,
  timeRange,
} from './list-query.ts';
import { TaskFilterBody } from './task-filter.ts';

const SAMPLE_SIZE = 10;

const PreviewView = z.object({
  dryRun: z.literal(true),
  count: CountView,
  sample: z.array(TaskView).describe('the newest ones'),
});

const SUMMARIES: Readonly<Record<OperationKind, string>> = {
  cancel: 'Cancel all open tasks that a filter matches. An agent cancels those that it requested',
  retry: 'Retry all failed and expired tasks that a filter matches. An agent retries those that it requested',
};

const notFound = { 404: { description: 'No such operation' } };

const defineBulkRoute = (kind: OperationKind): Route =>
  defineRoute({
    operationId: `${kind}Tasks`,
    method: 'POST',
    path: `/v1/tasks/${kind}`,
    scope: 'operate',
    summary: SUMMARIES[kind],
    body: z.strictObject({
      filter: TaskFilterBody.describe('as in `GET /v1/tasks`; at least one field'),
      reason: changeReason,
      dryRun: z.boolean().default(false).describe('only count the tasks, and show some'),
    }),
    responses: {
      200: { description: 'With `dryRun`: what the call would change', schema: PreviewView },
      202: { description: 'Accepted and durable. The operation changes the tasks', schema: OperationView },
    },
    handle: async ({ deps, caller, makeId, body: { filter, reason, dryRun } }) => {
      if (!dryRun) {
        const operation = await startOperation(deps, caller, { id: makeId(), kind, filter, reason });
        return { status: 202, body: toOperationView(operation) };
      }
      const { count, sample } = await previewOperation(deps, caller, { kind, filter }, SAMPLE_SIZE);
      return { status: 200, body: { dryRun: true, count, sample: sample.map(toTaskView) } };
    },
  });

export const operationRoutes: Route[] = [
  ...OPERATION_KINDS.map(defineBulkRoute),
  defineRoute({
    operationId: 'listOperations',
    method: 'GET',
    path: '/v1/operations',
    summary: 'List bulk operations, newest first',
    query: z.strictObject({
      kind: z.enum(OPERATION_KINDS).optional(),
      status: commaSeparated(OPERATION_STATUSES).optional(),
      ...timeRange,
      ...listQuery,
    }),
    responses: {
      200: {
        description: LIST_DESCRIPTION,
        schema: z.object({ operations: z.array(OperationView), ...listPageShape }),
      },
    },
    handle: async ({ deps, caller, query }) => {
      const { found, count, cursor } = await loadPage(deps, buildOperationListQuery(caller, query), query);
      return { status: 200, body: { operations: found.map(toOperationView), count, cursor } };
    },
  }),
  defineRoute({
    operationId: 'getOperation',
    method: 'GET',
    path: '/v1/operations/{id}',
    summary: 'Get the progress of a bulk operation. With `wait`, the response comes when it ends',
    query: z.strictObject({ wait: waitQuery }),
    responses: { 200: { description: 'The operation', schema: OperationView }, ...notFound },
    handle: async ({ deps, caller, params: { id = '' }, query, longPoll }) => {
      const operation = await awaitOperation(deps, caller, id, query.wait, longPoll.startWait(query.wait));
      return { status: 200, body: toOperationView(operation) };
    },
  }),
  defineRoute({
    operationId: 'stopOperation',
    method: 'POST',
    path: '/v1/operations/{id}/stop',
    scope: 'operate',
    summary: 'Stop a bulk operation. Tasks that it has changed stay as they are',
    responses: {
      200: { description: 'The operation, which stops after its current page', schema: OperationView },
      ...notFound,
    },
    handle: async ({ deps, caller, params: { id = '' } }) => ({
      status: 200,
      body: toOperationView(await stopOperation(deps, caller, id)),
    }),
  }),
];
