import * as z from 'zod';
import type { Config } from '../../config/config.ts';
import { hasRelay } from '../../config/project-settings.ts';
import type { AdminCaller, RelayCaller } from '../../identity/auth/authenticate.ts';
import { generateKey, RELAY_OWNER } from '../../identity/auth/keys.ts';
import { setRelayKey } from '../../identity/auth/set-operator-key.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { jsonObject, parseOrThrow } from '../../kernel/json/parse-or-throw.ts';
import { fitIntoResponse } from '../../kernel/response-size.ts';
import { RelayItemSchema } from '../../nats/relay-item-schema.ts';
import { RelayPlan } from '../../nats/relay-plan.ts';
import { RenderResult } from '../../nats/render-result.ts';
import { buildRelayPlan } from '../../nats-gateway/build-relay-plan.ts';
import { renderForNats } from '../../nats-gateway/render-for-nats.ts';
import { defineKeyRoute, largeBodyLimit, type Route } from '../route.ts';

const assertRelayEnabled = ({ project }: AdminCaller | RelayCaller, config: Config): void => {
  if (hasRelay(config, project)) return;
  throw new ParleyError('not_found', `The project ${project} has no relay: parley.config.ts can say relay: true.`);
};

export const relayRoutes: Route[] = [
  defineKeyRoute({
    operationId: 'createRelayKey',
    method: 'POST',
    path: '/v1/relay/key',
    summary: 'Create a new key for the relay of the project. The old key stops working',
    unrepeatable: 'its answer is a secret, which is not kept.',
    access: 'admin',
    responses: {
      200: {
        description: 'The new key',
        schema: z.object({ key: z.string().describe('shown once. Parley stores only its hash') }),
      },
    },
    handle: async ({ deps, caller }) => {
      assertRelayEnabled(caller, deps.config);
      const key = generateKey(caller.project, RELAY_OWNER);
      await setRelayKey(deps.records, caller.project, key, deps.newId());
      deps.directory.revokeKeys(caller.project, RELAY_OWNER, 'all');
      return { status: 200, body: { key } };
    },
  }),
  defineKeyRoute({
    operationId: 'getRelayPlan',
    method: 'GET',
    path: '/v1/relay/plan',
    summary: 'Get the streams and subjects that the relay reads on NATS',
    access: 'relay-or-admin',
    responses: { 200: { description: 'The required streams, and the subjects to read', schema: RelayPlan } },
    handle: async ({ deps, caller }) => {
      assertRelayEnabled(caller, deps.config);
      return { status: 200, body: buildRelayPlan(caller.project, deps.config) };
    },
  }),
  defineKeyRoute({
    operationId: 'renderRelayItems',
    method: 'POST',
    path: '/v1/relay/render',
    summary: 'Render items of the relay queue as NATS messages',
    unrepeatable: 'it changes nothing.',
    access: 'relay-or-admin',
    bodyBytes: largeBodyLimit,
    ingress: 'none',
    body: z.strictObject({
      items: boundedArray(
        z.strictObject({
          id: z.string().max(512),
          item: jsonObject,
          isTooLarge: z
            .boolean()
            .optional()
            .describe('whether NATS rejected the message as too large. Large content then becomes a card'),
        }),
        { min: 1, max: 25 },
      ),
    }),
    responses: {
      200: {
        description: 'For each item a message, the reason for none, or an error',
        schema: z.object({ results: z.array(RenderResult) }),
      },
    },
    handle: async ({ deps, caller, body }) => {
      assertRelayEnabled(caller, deps.config);
      const results = await Promise.all(body.items.map((item) => renderItem(deps, caller.project, item)));
      return { status: 200, body: { results: capResponseSize(results) } };
    },
  }),
];

/** Each is looked at on its own: one that nobody understands does not keep back those that came with it. */
const renderItem = async (
  deps: Deps,
  project: string,
  { item, ...how }: { id: string; item: JsonObject; isTooLarge?: boolean | undefined },
): Promise<RenderResult> => {
  try {
    return await renderForNats(deps, project, parseOrThrow(RelayItemSchema, item, 'invalid_request', 'The item'), how);
  } catch (error) {
    deps.log('error', 'rendering for NATS failed', { id: how.id, error: String(error) });
    return { problem: String(error) };
  }
};

/** The relay asks for the rest again. */
const capResponseSize = (results: RenderResult[]): RenderResult[] => {
  const { length } = fitIntoResponse(results, (result) => JSON.stringify(result).length);
  return results.map((result, index) => (index < length ? result : { deferred: true }));
};
