import * as z from 'zod';
import { BatchSummary, BatchView, getBatch, loadBatchView, toBatchSummary } from '../../batches/batch-view.ts';
import { buildBatchQuery } from '../../batches/list-batches.ts';
import { resolveActor } from '../../identity/auth/authenticate.ts';
import { CLIENT_ID, CLIENT_ID_RULE, toCanonicalId } from '../../kernel/ids.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { jsonObject } from '../../kernel/json/parse-or-throw.ts';
import { BATCH_ENDS } from '../../model/batch.ts';
import { cancelBatch } from '../../workflows/batches/batch-lifecycle.ts';
import { createBatch } from '../../workflows/batches/create-batch.ts';
import { defineRoute, largeBodyLimit, type Route, waitQuery } from '../route.ts';
import { changeBody, NoticesView, onBehalfOf } from './common-fields.ts';
import {
  agentName,
  commaSeparated,
  LIST_DESCRIPTION,
  listPageShape,
  listQuery,
  loadPage,
  timeRange,
} from './list-query.ts';

const MOST_TASKS = 100;
const LONGEST_SECONDS = 7 * 86_400;

const batchId = z.string().regex(CLIENT_ID, CLIENT_ID_RULE);

export const batchRoutes: Route[] = [
  defineRoute({
    operationId: 'listBatches',
    method: 'GET',
    path: '/v1/batches',
    summary: 'List batches, newest first, without the results of their tasks',
    query: z.strictObject({
      status: commaSeparated(['open', ...BATCH_ENDS]).optional(),
      requester: agentName.optional(),
      ...timeRange,
      ...listQuery,
    }),
    responses: {
      200: {
        description: LIST_DESCRIPTION,
        schema: z.object({ batches: z.array(BatchSummary), ...listPageShape }),
      },
    },
    handle: async ({ deps, caller, query }) => {
      const { found, count, cursor } = await loadPage(deps, buildBatchQuery(caller, query), query);
      return { status: 200, body: { batches: found.map(toBatchSummary), count, cursor } };
    },
  }),
  defineRoute({
    operationId: 'requestBatch',
    method: 'POST',
    path: '/v1/batches',
    summary: 'Request a batch of tasks. The requester receives one message when all have ended',
    bodyBytes: largeBodyLimit,
    ingress: { from: ({ agent }) => agent, messages: ({ tasks }) => tasks.length },
    query: z.strictObject({ agent: onBehalfOf }),
    body: z.strictObject({
      batchId: batchId.overwrite(toCanonicalId).optional().describe('by default derived from the content'),
      tasks: boundedArray(jsonObject, { min: 1, max: MOST_TASKS }).describe(
        'requests of any dialect, as in `POST /v1/messages`',
      ),
      failFast: z.boolean().default(false).describe('end the batch with the first task that is not completed'),
      deadlineSeconds: z.number().int().min(1).max(LONGEST_SECONDS).default(LONGEST_SECONDS),
    }),
    responses: {
      200: { description: 'A duplicate: the same batch had been accepted before', schema: BatchView },
      202: { description: 'Accepted as a whole, and durable', schema: BatchView.extend(NoticesView.shape) },
      409: { description: 'Another batch or task has one of the ids' },
      422: { description: 'An agent or capability is unknown' },
    },
    handle: async ({ deps, caller, query, body, trace, request }) => {
      const { agent } = await resolveActor(deps, caller, query.agent);
      const { tasks: messages, batchId: id, failFast, deadlineSeconds } = body;
      const dialect = request.headers['parley-dialect'];
      const wanted = { id, from: agent.id, messages, dialect, failFast, deadlineSeconds, trace };
      const { duplicate, batch, notices } = await createBatch(deps, caller, wanted);
      return { status: duplicate ? 200 : 202, body: { ...(await loadBatchView(deps, batch)), notices } };
    },
  }),
  defineRoute({
    operationId: 'getBatch',
    method: 'GET',
    path: '/v1/batches/{id}',
    summary: 'Get a batch with the result of each task. With `wait`, the response comes when the batch ends',
    query: z.strictObject({ wait: waitQuery }),
    responses: { 200: { description: 'The batch', schema: BatchView }, 404: { description: 'No such batch' } },
    handle: async ({ deps, caller, params, query, longPoll }) => {
      const id = toCanonicalId(params.id ?? '');
      return { status: 200, body: await getBatch(deps, caller, id, query.wait, longPoll.startWait(query.wait)) };
    },
  }),
  defineRoute({
    operationId: 'cancelBatch',
    method: 'POST',
    path: '/v1/batches/{id}/cancel',
    scope: 'operate',
    summary: 'Cancel a batch and its open tasks',
    body: changeBody,
    responses: {
      200: { description: 'The cancelled batch', schema: BatchView },
      404: { description: 'No such batch' },
      409: { description: '`batch_ended`: it has ended otherwise' },
    },
    handle: async ({ deps, caller, params, body }) => {
      const batch = await cancelBatch(deps, caller, toCanonicalId(params.id ?? ''), body.reason);
      return { status: 200, body: await loadBatchView(deps, batch) };
    },
  }),
];
