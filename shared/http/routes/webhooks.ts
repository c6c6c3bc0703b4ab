import * as z from 'zod';
import { AGENT_ID } from '../../identity/agents/agent.ts';
import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { isWebhook, type Webhook, type WebhookAttempt, webhookRef, webhooksKey } from '../../model/webhook.ts';
import { toIso } from '../../ports/clock.ts';
import { EVENT_TYPES } from '../../ports/event-types.ts';
import { sendTestEvent } from '../../webhooks/deliver.ts';
import { forgetWebhooks, loadWebhooks, MAX_WEBHOOKS } from '../../webhooks/list-webhooks.ts';
import { generateWebhookSecret } from '../../webhooks/sign.ts';
import { boundedCount, defineKeyRoute, type Route } from '../route.ts';

const WEBHOOK_ID = /^[a-z0-9_-]{1,64}$/;

const WebhookRequest = z.strictObject({
  url: z.string().min(1).max(2048).describe('where to: a public HTTPS address'),
  types: boundedArray(
    z
      .string()
      .regex(/^[a-z._]{1,64}\*?$/, 'must be an event type, or a prefix with a star')
      .refine(isKnownType, 'matches no event type'),
    { min: 1, max: 64 },
  ).describe('event types such as `task.completed`. `task.*` matches a prefix'),
  agent: z.string().regex(AGENT_ID).optional().describe('only tasks that this agent requests, is addressed or holds'),
  domain: z.string().min(1).max(128).optional().describe('only tasks of this domain'),
  taskId: z.string().min(1).max(128).optional().describe('only this task'),
  description: z.string().max(500).optional(),
  format: z
    .literal('cloudevents')
    .optional()
    .describe('sends each event as a CloudEvent in structured mode, instead of the body of Standard Webhooks'),
  secret: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/, 'must be whsec_ and at least 24 bytes in base64')
    .max(512)
    .optional()
    .describe('signs what is sent. Without it the old one stays, or one is made and shown once'),
  disabled: z.boolean().optional().describe('`true`: nothing is sent until it is enabled again'),
});

function isKnownType(wanted: string): boolean {
  const known = Object.keys(EVENT_TYPES);
  return wanted.endsWith('*') ? known.some((type) => type.startsWith(wanted.slice(0, -1))) : known.includes(wanted);
}

const WebhookView = z
  .object({
    id: z.string(),
    url: z.string(),
    types: z.array(z.string()),
    agent: z.string().optional(),
    domain: z.string().optional(),
    taskId: z.string().optional(),
    description: z.string().optional(),
    format: z.literal('cloudevents').optional(),
    createdAt: z.iso.datetime(),
    disabled: z
      .object({ at: z.iso.datetime(), reason: z.enum(['gone', 'failing', 'operator']) })
      .optional()
      .describe('why nothing is sent: the receiver answered 410, it failed for three days, or an operator says so'),
  })
  .meta({ id: 'Webhook' });

const toView = ({ disabledAt, disabledReason, ...webhook }: Webhook): z.output<typeof WebhookView> => {
  const { id, url, types, agent, domain, taskId, description, format, createdAt } = webhook;
  const disabled =
    disabledAt === undefined ? undefined : { at: toIso(disabledAt), reason: disabledReason ?? 'operator' };
  return { id, url, types, agent, domain, taskId, description, format, createdAt: toIso(createdAt), disabled };
};

const DeliveryView = z.object({
  eventId: z.string(),
  type: z.string(),
  attempt: z.number(),
  at: z.iso.datetime(),
  status: z.number().optional().describe('of the answer; absent if there was none'),
  error: z.string().optional(),
  tookMs: z.number(),
});

const findWebhook = async (deps: Deps, { project }: Caller, id = ''): Promise<Webhook> => {
  const found = WEBHOOK_ID.test(id) ? await deps.records.get(webhookRef(project, id)) : undefined;
  if (found && isWebhook(found)) return found;
  throw new ParleyError('webhook_not_found', `There is no webhook ${id.slice(0, 64)}.`);
};

const notFound = { 404: { description: 'No such webhook' } };

export const webhookRoutes: Route[] = [
  defineKeyRoute({
    operationId: 'putWebhook',
    method: 'PUT',
    path: '/v1/webhooks/{id}',
    summary: 'Send events of the project to an address, or change how. A disabled webhook is enabled again',
    access: 'admin',
    body: WebhookRequest,
    responses: {
      200: { description: 'Changed', schema: z.object({ webhook: WebhookView }) },
      201: {
        description: 'Created',
        schema: z.object({ webhook: WebhookView, secret: z.string().optional().describe('shown once') }),
      },
    },
    handle: async ({ deps, caller: { project }, params: { id = '' }, body }) => {
      if (!WEBHOOK_ID.test(id))
        throw new ParleyError('invalid_request', `"${id.slice(0, 64)}" is no id: 1 to 64 of a-z, 0-9, _ and -.`);
      deps.httpSender.assertAllowed(body.url);
      const ref = webhookRef(project, id);
      const known = await deps.records.get(ref);
      if (!known && (await loadWebhooks(deps, project)).length >= MAX_WEBHOOKS)
        throw new ParleyError('too_large', `A project has ${MAX_WEBHOOKS} webhooks at most.`);
      const now = deps.clock.now();
      const { disabled = false, secret: given, ...fields } = body;
      const secret = given ?? known?.secret ?? generateWebhookSecret();
      const end = disabled ? { disabledAt: now, disabledReason: 'operator' } : {};
      const about = { project, id, createdAt: now, byList: { pk: webhooksKey(project), sk: id } };
      const optional = ['agent', 'domain', 'taskId', 'description', 'format'] as const;
      const change = {
        set: { ...fields, secret, ...end, ...(known ? {} : about) },
        unset: [
          ...optional.filter((field) => fields[field] === undefined),
          ...(disabled ? [] : ['disabledAt', 'disabledReason']),
        ],
      };
      const written = await deps.records.update<Webhook>(ref, change, deps.newId(), known ? undefined : 'orCreate');
      forgetWebhooks(deps, project);
      if (written.outcome !== 'written') throw new ParleyError('conflict', `The webhook ${id} was removed meanwhile.`);
      const webhook = toView(written.after);
      if (known) return { status: 200, body: { webhook } };
      return { status: 201, body: { webhook, secret: given === undefined ? secret : undefined } };
    },
  }),
  defineKeyRoute({
    operationId: 'listWebhooks',
    method: 'GET',
    path: '/v1/webhooks',
    summary: 'List webhooks by id',
    access: 'admin',
    responses: { 200: { description: 'All webhooks', schema: z.object({ webhooks: z.array(WebhookView) }) } },
    handle: async ({ deps, caller }) => ({
      status: 200,
      body: { webhooks: (await loadWebhooks(deps, caller.project)).map(toView) },
    }),
  }),
  defineKeyRoute({
    operationId: 'getWebhook',
    method: 'GET',
    path: '/v1/webhooks/{id}',
    summary: 'Get a webhook. Its secret is never shown',
    access: 'admin',
    responses: { 200: { description: 'The webhook', schema: WebhookView }, ...notFound },
    handle: async ({ deps, caller, params }) => ({
      status: 200,
      body: toView(await findWebhook(deps, caller, params.id)),
    }),
  }),
  defineKeyRoute({
    operationId: 'listWebhookDeliveries',
    method: 'GET',
    path: '/v1/webhooks/{id}/deliveries',
    summary: 'List what was sent to a webhook in the last 7 days, newest first',
    access: 'admin',
    query: z.strictObject({ limit: boundedCount(100, 20) }),
    responses: {
      200: { description: 'Attempts', schema: z.object({ deliveries: z.array(DeliveryView) }) },
      ...notFound,
    },
    handle: async ({ deps, caller, params, query: { limit } }) => {
      const { pk } = await findWebhook(deps, caller, params.id);
      const options = { pk, prefix: 'webhook-attempt#', newestFirst: true, limit };
      const attempts = await deps.records.query<WebhookAttempt>(options);
      const deliveries = attempts.map(({ eventId, type, attempt, status, error, tookMs, startedAt }) => ({
        eventId,
        type,
        attempt,
        at: toIso(startedAt),
        status,
        error,
        tookMs,
      }));
      return { status: 200, body: { deliveries } };
    },
  }),
  defineKeyRoute({
    operationId: 'testWebhook',
    method: 'POST',
    path: '/v1/webhooks/{id}/test',
    summary: 'Send a `webhook.test` event to a webhook now, once, and say how it was answered',
    access: 'admin',
    responses: {
      200: {
        description: 'What came of it',
        schema: z.object({
          delivered: z.boolean(),
          status: z.number().optional(),
          error: z.string().optional(),
          tookMs: z.number(),
        }),
      },
      ...notFound,
    },
    handle: async ({ deps, caller, params }) => {
      const webhook = await findWebhook(deps, caller, params.id);
      const { isSent, status, error, tookMs } = await sendTestEvent(deps, webhook);
      return { status: 200, body: { delivered: isSent, status, error, tookMs } };
    },
  }),
  defineKeyRoute({
    operationId: 'removeWebhook',
    method: 'DELETE',
    path: '/v1/webhooks/{id}',
    summary: 'Remove a webhook. What waits for it is not sent',
    access: 'admin',
    responses: { 204: { description: 'Removed' }, ...notFound },
    handle: async ({ deps, caller, params }) => {
      const { pk, sk, project } = await findWebhook(deps, caller, params.id);
      await deps.records.delete({ pk, sk });
      forgetWebhooks(deps, project);
      return { status: 204 };
    },
  }),
];
