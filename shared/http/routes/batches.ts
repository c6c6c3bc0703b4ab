import * as z from 'zod';
import { agentBehind } from '../../agents/authenticate.ts';
import { BatchView, batchView, lookUpBatch } from '../../batches/batch-view.ts';
import { submitBatch } from '../../batches/submit-batch.ts';
import { canonicalId, GIVEN_ID, GIVEN_ID_RULE } from '../../ids.ts';
import { jsonObject } from '../../json/checked.ts';
import { noBody, type Route, route, signalFor, waitUpTo } from '../route.ts';
import { speaksFor } from './agent-fields.ts';

const MOST_TASKS = 100;
const LONGEST_SECONDS = 7 * 86_400;

const batchId = z.string().regex(GIVEN_ID, GIVEN_ID_RULE);

export const batchRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/v1/batches',
    summary: 'Ask for several tasks at once, and be told once how all of them ended',
    query: z.strictObject({ agent: speaksFor }),
    body: z.strictObject({
      batchId: batchId.overwrite(canonicalId).optional().describe('by default made of the content'),
      tasks: z.array(jsonObject).min(1).max(MOST_TASKS).describe('requests of any dialect, as in POST /v1/messages'),
      failFast: z.boolean().default(false).describe('the first that is not completed ends the batch'),
      deadlineSeconds: z.number().int().min(1).max(LONGEST_SECONDS).default(LONGEST_SECONDS),
    }),
    answers: {
      200: { description: 'The very same batch had been accepted before', schema: BatchView },
      202: { description: 'Accepted as a whole, and on disk', schema: BatchView },
      409: { description: 'Another batch or task has one of its ids' },
      422: { description: 'An agent or a capability that nobody knows' },
    },
    handle: async ({ deps, caller, query, body, trace, request }) => {
      const { agent } = await agentBehind(deps, caller, query.agent);
      const { tasks: messages, batchId: id, failFast, deadlineSeconds } = body;
      const dialect = request.headers['parley-dialect'];
      const wanted = { id, from: agent.id, messages, dialect, failFast, deadlineSeconds, trace };
      const { duplicate, batch } = await submitBatch(deps, caller, wanted);
      return { status: duplicate ? 200 : 202, body: await batchView(deps, batch) };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/batches/{id}',
    summary: 'A batch with how each of its tasks ended; with wait, as soon as it has ended',
    query: z.strictObject({ wait: waitUpTo(25) }),
    body: noBody,
    answers: { 200: { description: 'The batch', schema: BatchView }, 404: { description: 'No such batch' } },
    handle: async ({ deps, caller, params, query, request }) => {
      const id = canonicalId(params.id ?? '');
      return { status: 200, body: await lookUpBatch(deps, caller, id, query.wait, signalFor(query.wait, request)) };
    },
  }),
];
