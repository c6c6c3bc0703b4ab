import * as z from 'zod';
import type { Caller, Relay } from '../../agents/authenticate.ts';
import type { Deps } from '../../deps.ts';
import { dialects } from '../../dialects/dialects.ts';
import { ParleyError } from '../../errors.ts';
import { canonicalId } from '../../ids.ts';
import { checked, jsonObject } from '../../json/checked.ts';
import { isJsonObject, type Json, type JsonObject, objectIn } from '../../json/json.ts';
import { type Called, callOrder } from '../../messages/call-order.ts';
import { type Accepted, receive, type Sent } from '../../messages/receive.ts';
import { Arrival } from '../../relay/nats-message.ts';
import { receiveFromNats } from '../../relay/receive-from-nats.ts';
import { noteTasks } from '../note-tasks.ts';
import { problemOf, tellable } from '../problem.ts';
import { type Route, relayRoute, signalFor, waitUpTo } from '../route.ts';

const AcceptedMessage = z.object({
  id: z.string(),
  dialect: z.string(),
  duplicate: z.boolean().describe('whether the very same message had arrived before'),
  messageId: z
    .string()
    .optional()
    .describe('where the id is short, the one that GET /v1/messages/{from}/{id} knows it by'),
  taskId: z.string().optional(),
  notWaitedFor: z
    .array(z.string())
    .optional()
    .describe('dependencies that are no task that the sender has to do with, so that nothing waits for them'),
  agentTurnId: z
    .string()
    .optional()
    .describe('of a call of an agent that becomes a turn: what GET /v1/turns/{id} shows'),
  broadcastId: z.string().optional().describe('of a message to many: GET /v1/broadcasts/{id} says how far it has come'),
  outcome: z.looseObject({}).optional().describe('with wait: the result, failure or question, if it came in time'),
});

export const Results = z.array(
  z.object({ status: z.number().int(), body: z.looseObject({}).describe('as of the message alone, or a problem') }),
);

/** Which dialect checks a message shows only when it is looked at. */
const AnyMessages = jsonObject.meta({
  anyOf: [
    ...dialects.map(({ name }) => ({ $ref: `#/components/schemas/${name}` })),
    { type: 'object', required: ['messages'], properties: { messages: { type: 'array', items: { type: 'object' } } } },
  ],
});

export const messageRoutes: Route[] = [
  relayRoute({
    method: 'POST',
    path: '/v1/messages',
    summary:
      'Send one message of any dialect, or several as {"messages": […]}; with wait, one request is answered with its outcome',
    headers: {
      'Parley-Dialect': 'the dialect of the messages, where it is not to be recognised by their shape',
      'Parley-Broadcast': 'all, capability:<name> or domain:<name>: to each of those agents but the sender',
    },
    query: z.strictObject({ wait: waitUpTo(25) }),
    body: AnyMessages,
    answers: {
      200: {
        description: 'A duplicate; or, for several messages, what became of each in their order',
        schema: z.union([AcceptedMessage, z.object({ results: Results })]),
      },
      202: { description: 'Accepted, and on disk', schema: AcceptedMessage },
    },
    handle: async ({ deps, caller, query, body, trace, request }) => {
      const { 'parley-dialect': dialect, 'parley-broadcast': broadcast } = request.headers;
      const sent = { caller, trace, dialect, broadcast, note: noteTasks(request) };
      if (Array.isArray(body.messages)) {
        if (query.wait > 0) throw new ParleyError('invalid_request', 'Only a single message can be waited for.');
        return {
          status: 200,
          body: { results: await receiveAll(deps, sent, body.messages, arrivalsIn(caller, body)) },
        };
      }
      if (caller.role === 'relay') throw new ParleyError('invalid_request', 'A relay sends {"messages", "arrivals"}.');
      const accepted = await receive(deps, sent, body);
      const outcome = await outcomeOf(deps, caller, accepted, query.wait, signalFor(query.wait, request));
      return { status: statusOf(accepted), body: { ...accepted, outcome } };
    },
  }),
];

/** Where each of the messages came in on NATS, which only a relay knows. */
const arrivalsIn = ({ role }: Caller | Relay, { messages, arrivals }: JsonObject): Arrival[] => {
  if (role !== 'relay') return [];
  const found = checked(z.array(Arrival), arrivals, 'invalid_request', 'arrivals');
  if (Array.isArray(messages) && found.length === messages.length) return found;
  throw new ParleyError('invalid_request', 'Each of the messages must have its arrival.');
};

/** How what was asked for ended, or what its holder asks, as a message in the dialect of the request, if that comes in time. */
const outcomeOf = async (
  deps: Deps,
  caller: Caller,
  { taskId, dialect, awaited }: Accepted,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<JsonObject | undefined> => {
  if (waitMs === 0) return undefined;
  if (awaited) return awaited(waitMs, signal);
  if (taskId === undefined) return undefined;
  // Only who waits is answered with a message: whatever writes them is loaded for the first who does.
  const { awaitOutcome } = await import('../../tasks/await-outcome.ts');
  return awaitOutcome(deps, caller, { taskId, dialect }, waitMs, signal);
};

const statusOf = ({ duplicate }: Accepted): number => (duplicate ? 200 : 202);

export interface Result {
  status: number;
  body: object;
}

/**
 * Messages about one task are carried out in their order, and each behind those that it waits for; those about different tasks do
 * not wait for each other.
 */
export const receiveAll = async (
  deps: Deps,
  sent: Sent,
  messages: readonly Json[],
  arrivals: readonly Arrival[] = [],
): Promise<Result[]> => {
  const { batch } = deps.config.limits;
  if (messages.length > batch) {
    throw new ParleyError('too_large', `A batch has ${messages.length} messages; ${batch} are allowed.`, {
      facts: { limit: batch },
    });
  }
  const called = messages.map(namesIn);
  const { order, circleOf } = callOrder(called);
  const last = new Map<string, Promise<Result>>();
  const results = new Map<number, Promise<Result>>();
  for (const place of order) {
    const { names = [], awaits = [] } = called[place] ?? {};
    const known = [...names, ...awaits];
    const earlier = known.flatMap((name) => last.get(name) ?? []);
    const result = Promise.all(earlier).then(() =>
      receiveOne(deps, sent, messages[place], circleOf(place), arrivals[place]),
    );
    for (const name of known) last.set(name, result);
    results.set(place, result);
  }
  return Promise.all(messages.flatMap((_, place) => results.get(place) ?? []));
};

/** What any dialect would take for a name: which of them the message is of shows only later. */
const namesIn = (message: Json): Called => {
  const wire = objectIn(message);
  const names = dialects.map((dialect) => dialect.names?.(wire) ?? []);
  return {
    own: textsIn(names.map(([own]) => own)),
    names: textsIn(names.flat()),
    awaits: textsIn(dialects.flatMap(({ awaits }) => awaits?.(wire) ?? [])),
  };
};

const textsIn = (values: (Json | undefined)[]): string[] =>
  values.filter((value) => typeof value === 'string').map(canonicalId);

const receiveOne = async (
  deps: Deps,
  sent: Sent,
  message: Json | undefined,
  circle: string[],
  arrival: Arrival | undefined,
): Promise<Result> => {
  try {
    if (circle.length > 0) throw inCircle(circle);
    if (!isJsonObject(message)) throw new ParleyError('invalid_message', 'A message must be an object.');
    const accepted = arrival ? await receiveFromNats(deps, sent, arrival, message) : await receive(deps, sent, message);
    return { status: statusOf(accepted), body: accepted };
  } catch (error) {
    const told = tellable(error);
    if (told.code === 'internal') deps.log('error', 'a message of a batch failed', { cause: String(told.cause) });
    return problemOf(told);
  }
};

const inCircle = (cycle: string[]): ParleyError =>
  new ParleyError('task_graph_cycle', `Messages of this call wait for each other: ${cycle.join(', ')}.`, {
    facts: { cycle },
  });
