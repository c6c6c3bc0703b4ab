import * as z from 'zod';
import { type Caller, type Relay, requireAdmin } from '../../agents/authenticate.ts';
import { newKey, RELAY, setRelayKey } from '../../agents/keys.ts';
import { type Config, hasRelay } from '../../config.ts';
import type { Deps } from '../../deps.ts';
import { ParleyError } from '../../errors.ts';
import { checked, jsonObject } from '../../json/checked.ts';
import type { JsonObject } from '../../json/json.ts';
import { Asked } from '../../relay/asked.ts';
import { Plan } from '../../relay/plan.ts';
import { planFor } from '../../relay/plan-for.ts';
import { putIntoWords } from '../../relay/put-into-words.ts';
import { Words } from '../../relay/words.ts';
import { noBody, noQuery, type Route, relayRoute, route } from '../route.ts';

const requireRelay = (caller: Caller | Relay, config: Config): void => {
  if (caller.role === 'agent') {
    throw new ParleyError('forbidden', 'Only the key of the relay or of an admin may do this.');
  }
  if (hasRelay(config, caller.project)) return;
  throw new ParleyError(
    'not_found',
    `The project ${caller.project} has no relay: parley.config.ts can say relay: true.`,
  );
};

export const relayRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/v1/relay/key',
    summary: 'Give the relay of the project a new key; the old one stops working (admin)',
    query: noQuery,
    body: noBody,
    answers: {
      200: {
        description: 'The new key',
        schema: z.object({ key: z.string().describe('shown once; only its hash is kept') }),
      },
    },
    handle: async ({ deps, caller }) => {
      requireAdmin(caller);
      requireRelay(caller, deps.config);
      const key = newKey(caller.project, RELAY);
      await setRelayKey(deps.records, caller.project, key, deps.newId());
      deps.directory.forget(caller.project, RELAY);
      return { status: 200, body: { key } };
    },
  }),
  relayRoute({
    method: 'GET',
    path: '/v1/relay/plan',
    summary: 'What the relay of the project has to do on NATS (relay, admin)',
    query: noQuery,
    body: noBody,
    answers: { 200: { description: 'The streams that must be there, and what is read', schema: Plan } },
    handle: async ({ deps, caller }) => {
      requireRelay(caller, deps.config);
      return { status: 200, body: planFor(caller.project, deps.config) };
    },
  }),
  relayRoute({
    method: 'POST',
    path: '/v1/relay/words',
    summary: 'What waits in a queue of the relay, as it is to be published on NATS (relay, admin)',
    query: noQuery,
    body: z.strictObject({
      asks: z
        .array(
          z.strictObject({
            id: z.string().max(512),
            ask: jsonObject,
            isTooLarge: z.boolean().optional().describe('NATS did not take it: what is large in it becomes a card'),
          }),
        )
        .min(1)
        .max(25),
    }),
    answers: {
      200: {
        description:
          'For each a message, why there is none, what keeps it from being told now, or that it did not fit in',
        schema: z.object({ words: z.array(Words) }),
      },
    },
    handle: async ({ deps, caller, body }) => {
      requireRelay(caller, deps.config);
      const words = await Promise.all(body.asks.map((asked) => worded(deps, caller.project, asked)));
      return { status: 200, body: { words: inOneAnswer(words) } };
    },
  }),
];

/** Each is looked at on its own: one that nobody understands does not keep back those that came with it. */
const worded = async (
  deps: Deps,
  project: string,
  { ask, ...how }: { id: string; ask: JsonObject; isTooLarge?: boolean | undefined },
): Promise<Words> => {
  try {
    return await putIntoWords(deps, project, checked(Asked, ask, 'invalid_request', 'What is asked'), how);
  } catch (error) {
    deps.log('error', 'a message for NATS could not be told', { id: how.id, error: String(error) });
    return { problem: String(error) };
  }
};

/** What one answer holds; the rest is asked for again. */
const ANSWER_BYTES = 3 * 1024 * 1024;

const inOneAnswer = (words: Words[]): Words[] => {
  let bytes = 0;
  return words.map((word, index) => {
    bytes += JSON.stringify(word).length;
    return index === 0 || bytes <= ANSWER_BYTES ? word : { later: true };
  });
};
