import * as z from 'zod';
import type { Config } from '../../config/config.ts';
import { DIALECTS } from '../../dialects/registry.ts';
import type { Caller, RelayCaller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { type IngestResult, ingestMessage, type ReceiveContext } from '../../ingest/ingest-message.ts';
import type { BatchedMessage } from '../../ingest/topological-order.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { toCanonicalId } from '../../kernel/ids.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { isJsonObject, type Json, type JsonObject, toObjectOrEmpty } from '../../kernel/json/json.ts';
import { jsonObject, parseOrThrow } from '../../kernel/json/parse-or-throw.ts';
import { NatsEnvelope } from '../../nats/nats-message.ts';
import { PRIORITIES } from '../../ports/queues.ts';
import { toProblem, toPublicError } from '../problem.ts';
import { createTaskLogger, defineKeyRoute, largeBodyLimit, type Route, waitQuery } from '../route.ts';
import { NoticesView } from './common-fields.ts';

const AcceptedMessage = z
  .object({
    id: z.string(),
    dialect: z.string(),
    duplicate: z.boolean().describe('whether the same message had arrived before'),
    messageId: z
      .string()
      .optional()
      .describe('the full id of a message with a short id, for `GET /v1/messages/{from}/{id}`'),
    taskId: z.string().optional(),
    ignoredDependencies: z
      .array(z.string())
      .optional()
      .describe('dependencies that are no tasks of the sender. Nothing waits for them'),
    ...NoticesView.shape,
    waiting: z
      .partialRecord(z.enum(PRIORITIES), z.number().int())
      .optional()
      .describe('after progress: about how many more urgent tasks wait for the agent, by priority. 10 may be more'),
    agentTurnId: z.string().optional().describe('the turn that the message created'),
    broadcastId: z.string().optional().describe('the id of the broadcast, for `GET /v1/broadcasts/{id}`'),
    outcome: z
      .looseObject({})
      .optional()
      .describe('with `wait`: the result, failure or question, if it arrived in time'),
  })
  .meta({ id: 'AcceptedMessage' });

export const MessageResults = z
  .array(
    z.object({
      status: z.number().int(),
      body: z.looseObject({}).describe('the response for this message, or a problem'),
    }),
  )
  .meta({ id: 'MessageResults' });

/** Which dialect checks a message shows only when it is looked at. */
const buildBodySchema = ({ limits }: Config): JsonObject => {
  const messages = { type: 'array', maxItems: limits.batch, items: { type: 'object' } };
  return {
    type: 'object',
    anyOf: [
      ...DIALECTS.map(({ name }) => ({ $ref: `#/components/schemas/${name}` })),
      { type: 'object', required: ['messages'], properties: { messages } },
    ],
  };
};

export const messageRoutes: Route[] = [
  defineKeyRoute({
    operationId: 'sendMessages',
    method: 'POST',
    path: '/v1/messages',
    summary:
      'Send one message of any dialect, or several as `{"messages": […]}`. With `wait`, a single request is answered with its outcome',
    headers: {
      'Parley-Dialect': 'the dialect of the messages. By default Parley recognises it by their shape',
      'Parley-Broadcast':
        '`all`, `capability:<name>` or `domain:<name>`: send a copy to each of these agents except the sender',
    },
    access: 'any-key',
    bodyBytes: largeBodyLimit,
    ingress: 'each',
    query: z.strictObject({ wait: waitQuery }),
    body: jsonObject,
    describeBody: buildBodySchema,
    responses: {
      200: {
        description: 'A duplicate; or, for several messages, one result per message in their order',
        schema: z.union([AcceptedMessage, z.object({ results: MessageResults })]),
      },
      202: { description: 'Accepted and durable', schema: AcceptedMessage },
    },
    handle: async ({ deps, caller, query, body, signed, trace, request, longPoll }) => {
      const { 'parley-dialect': dialect, 'parley-broadcast': broadcast } = request.headers;
      const sent = { caller, trace, dialect, broadcast, signed, onTaskId: createTaskLogger(request) };
      if (Array.isArray(body.messages)) {
        if (query.wait > 0) throw new ParleyError('invalid_request', 'Only a single message can be waited for.');
        return {
          status: 200,
          body: { results: await receiveMessages(deps, sent, body.messages, parseEnvelopes(caller, body)) },
        };
      }
      if (caller.role === 'relay') throw new ParleyError('invalid_request', 'A relay sends {"messages", "envelopes"}.');
      const signal = longPoll.startWait(query.wait);
      const accepted = await ingestMessage(deps, sent, body);
      const outcome = await waitForOutcome(deps, caller, accepted, query.wait, signal);
      return { status: getAcceptedStatus(accepted), body: { ...accepted, outcome } };
    },
  }),
];

const MAX_ENVELOPES = 1000;

/** Where each of the messages came in on NATS, which only a relay knows. */
const parseEnvelopes = ({ role }: Caller | RelayCaller, { messages, envelopes }: JsonObject): NatsEnvelope[] => {
  if (role !== 'relay') return [];
  const found = parseOrThrow(
    boundedArray(NatsEnvelope, { max: MAX_ENVELOPES }),
    envelopes,
    'invalid_request',
    'envelopes',
  );
  if (Array.isArray(messages) && found.length === messages.length) return found;
  throw new ParleyError('invalid_request', 'Each of the messages must have its arrival.');
};

/** How what was asked for ended, or what its holder asks, as a message in the dialect of the request, if that comes in time. */
const waitForOutcome = async (
  deps: Deps,
  caller: Caller,
  { taskId, dialect, waitForOutcome: awaited }: IngestResult,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<JsonObject | undefined> => {
  if (waitMs === 0) return undefined;
  if (awaited) return awaited(waitMs, signal);
  if (taskId === undefined) return undefined;
  // Only who waits is answered with a message: whatever writes them is loaded for the first who does.
  const { awaitOutcome } = await import('../../tasks/queries/await-outcome.ts');
  return awaitOutcome(deps, caller, { taskId, dialect }, waitMs, signal);
};

const getAcceptedStatus = ({ duplicate }: IngestResult): number => (duplicate ? 200 : 202);

export interface MessageResult {
  status: number;
  body: object;
}

/**
 * Messages about one task are carried out in their order, and each behind those that it waits for; those about different tasks do
 * not wait for each other.
 */
export const receiveMessages = async (
  deps: Deps,
  sent: ReceiveContext,
  messages: readonly Json[],
  envelopes: readonly NatsEnvelope[] = [],
): Promise<MessageResult[]> => {
  const { batch } = deps.config.limits;
  if (messages.length > batch) {
    throw new ParleyError('too_large', `A batch has ${messages.length} messages; ${batch} are allowed.`, {
      details: { limit: batch },
    });
  }
  const called = messages.map(listCorrelationIds);
  const { computeTopologicalOrder } = await import('../../ingest/topological-order.ts');
  const { order, findCycleContaining } = computeTopologicalOrder(called);
  const last = new Map<string, Promise<MessageResult>>();
  const results = new Map<number, Promise<MessageResult>>();
  for (const index of order) {
    const { correlationIds = [], dependencyIds = [] } = called[index] ?? {};
    const known = [...correlationIds, ...dependencyIds];
    const earlier = known.flatMap((name) => last.get(name) ?? []);
    const result = Promise.all(earlier).then(() =>
      receiveMessage(deps, sent, messages[index], findCycleContaining(index), envelopes[index]),
    );
    for (const name of known) last.set(name, result);
    results.set(index, result);
  }
  return Promise.all(messages.flatMap((_, index) => results.get(index) ?? []));
};

/** What any dialect would take for a name: which of them the message is of shows only later. */
const listCorrelationIds = (message: Json): BatchedMessage => {
  const wire = toObjectOrEmpty(message);
  const names = DIALECTS.map((dialect) => dialect.listCorrelationIds?.(wire) ?? []);
  return {
    ids: pickIds(names.map(([own]) => own)),
    correlationIds: pickIds(names.flat()),
    dependencyIds: pickIds(DIALECTS.flatMap(({ listDependencyIds }) => listDependencyIds?.(wire) ?? [])),
  };
};

const pickIds = (values: (Json | undefined)[]): string[] =>
  values.filter((value) => typeof value === 'string').map(toCanonicalId);

const receiveMessage = async (
  deps: Deps,
  sent: ReceiveContext,
  message: Json | undefined,
  circle: string[],
  arrival: NatsEnvelope | undefined,
): Promise<MessageResult> => {
  try {
    if (circle.length > 0) throw messageCycleError(circle);
    if (!isJsonObject(message)) throw new ParleyError('invalid_message', 'A message must be an object.');
    const accepted = arrival
      ? await (await import('../../nats-gateway/receive-from-nats.ts')).receiveFromNats(deps, sent, arrival, message)
      : await ingestMessage(deps, sent, message);
    return { status: getAcceptedStatus(accepted), body: accepted };
  } catch (error) {
    const problem = toPublicError(error);
    if (problem.code === 'internal') deps.log('error', 'batch message failed', { cause: String(problem.cause) });
    return toProblem(problem);
  }
};

const messageCycleError = (cycle: string[]): ParleyError =>
  new ParleyError('task_graph_cycle', `Messages of this call wait for each other: ${cycle.join(', ')}.`, {
    details: { cycle },
  });
