import { encodePush } from '../adapters/encode-push.ts';
import { CLOUD_EVENT_HEADERS, toCloudEvent } from '../events/cloud-event.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { DAY_MS } from '../kernel/retention.ts';
import { toSortableTime } from '../model/task.ts';
import {
  isWebhook,
  type Outbox,
  type Webhook,
  type WebhookAttempt,
  type WebhookMessage,
  type WebhookTarget,
} from '../model/webhook.ts';
import { toIso } from '../ports/clock.ts';
import { equals, notExists } from '../ports/conditions.ts';
import type { ParleyEvent } from '../ports/events.ts';
import { forgetWebhooks } from './list-webhooks.ts';
import { settleOutbox } from './outbox.ts';
import { buildWebhookHeaders } from './sign.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Of Standard Webhooks: the times between attempts, 3 days in all. */
export const RETRY_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];
/** Longer than one attempt: if its process dies, another makes it again. */
const LEASE_MARGIN_MS = 15 * SECOND_MS;
const ATTEMPT_LOG_MS = 7 * DAY_MS;

/** One attempt at the first event. Whoever has moved `due` makes it. */
export const onOutboxTimer = async (deps: Deps, outbox: Outbox): Promise<void> => {
  const due = deps.clock.now() + deps.config.outbound.timeoutMs + LEASE_MARGIN_MS;
  const change = { if: equals('v', outbox.v), set: { due } };
  const leased = await deps.records.update<Outbox>({ pk: outbox.pk, sk: outbox.sk }, change, deps.newId());
  if (leased.outcome !== 'written') return;
  const work = (signal?: AbortSignal): Promise<void> => deliverFirst(deps, leased.after, signal);
  if (deps.background) deps.background(work);
  else await work();
};

const deliverFirst = async (deps: Deps, outbox: Outbox, signal: AbortSignal | undefined): Promise<void> => {
  const [event] = outbox.pending;
  const target = await deps.records.get<WebhookTarget>(outbox.target);
  if (!event || !target || (isWebhook(target) && target.disabledAt !== undefined)) {
    await deps.records.delete({ pk: outbox.pk, sk: outbox.sk });
    return;
  }
  const attempt = outbox.attempt + 1;
  const result = await sendEvent(deps, target, event, signal);
  if (signal?.aborted) return;
  await settle(deps, outbox, target, event, attempt, result);
  if (isWebhook(target)) await logAttempt(deps, target, event, attempt, result);
};

const settle = async (
  deps: Deps,
  outbox: Outbox,
  target: WebhookTarget,
  { id }: ParleyEvent,
  attempt: number,
  { isSent, status, retryAfterMs = 0 }: DeliveryResult,
): Promise<void> => {
  const delay = RETRY_MS[attempt - 1];
  if (isSent) return await settleOutbox(deps, outbox, id, { isSent: true });
  if (status === 410) return await endTarget(deps, target, 'gone');
  if (delay === undefined) return await endTarget(deps, target, 'failing');
  const retryAt = deps.clock.now() + Math.max(delay, Math.min(retryAfterMs, DAY_MS));
  await settleOutbox(deps, outbox, id, { retryAt, attempt });
};

/** It gets nothing more; what waits for it goes with the next look at it. */
const endTarget = async (deps: Deps, target: WebhookTarget, disabledReason: 'gone' | 'failing'): Promise<void> => {
  const ref = { pk: target.pk, sk: target.sk };
  if (!isWebhook(target)) {
    await deps.records.delete(ref);
    return;
  }
  const change = { if: notExists('disabledAt'), set: { disabledAt: deps.clock.now(), disabledReason } };
  await deps.records.update<Webhook>(ref, change, deps.newId());
  forgetWebhooks(deps, target.project);
};

interface DeliveryResult {
  isSent: boolean;
  status?: number;
  error?: string;
  startedAt: number;
  tookMs: number;
  retryAfterMs?: number;
}

/** In as many calls as the event has messages. */
const sendEvent = async (
  deps: Deps,
  target: WebhookTarget,
  event: ParleyEvent,
  signal?: AbortSignal,
): Promise<DeliveryResult> => {
  const startedAt = deps.clock.now();
  let result: Omit<DeliveryResult, 'tookMs' | 'startedAt'> = { isSent: true };
  for (const message of await buildMessages(deps, target, event)) {
    result = await post(deps, target, message, signal);
    if (!result.isSent) break;
  }
  return { ...result, startedAt, tookMs: Math.max(0, deps.clock.now() - startedAt) };
};

/** Once, beside what waits for it. */
export const sendTestEvent = async (deps: Deps, webhook: Webhook): Promise<DeliveryResult> => {
  const { project, id } = webhook;
  const at = deps.clock.now();
  const event: ParleyEvent = {
    id: `webhook/${id}:${deps.newId()}`,
    project,
    type: 'webhook.test',
    at,
    data: { webhook: id },
  };
  const result = await sendEvent(deps, webhook, event);
  await logAttempt(deps, webhook, event, 1, result);
  return result;
};

const buildMessages = async (deps: Deps, target: WebhookTarget, event: ParleyEvent): Promise<WebhookMessage[]> => {
  if (!isWebhook(target)) return await encodePush(deps, target, event);
  const { id, type, at, data, project } = event;
  if (target.format === 'cloudevents')
    return [{ id, body: JSON.stringify(toCloudEvent(event)), headers: CLOUD_EVENT_HEADERS }];
  const body = JSON.stringify({ type, timestamp: toIso(at), id, project, data });
  return [{ id, body, headers: { 'content-type': 'application/json' } }];
};

const post = async (
  { httpSender, config, clock }: Deps,
  { url, secret }: WebhookTarget,
  { id, body, headers }: WebhookMessage,
  signal: AbortSignal | undefined,
): Promise<Omit<DeliveryResult, 'tookMs' | 'startedAt'>> => {
  const signed = { ...headers, 'user-agent': 'Parley', ...buildWebhookHeaders(id, clock.now(), body, secret) };
  try {
    const { timeoutMs } = config.outbound;
    const answer = await httpSender.send({ method: 'POST', url, headers: signed, body, timeoutMs, signal });
    const { status } = answer;
    const retryAfter = Number(answer.headers['retry-after']);
    const retryAfterMs = Number.isFinite(retryAfter) ? retryAfter * SECOND_MS : undefined;
    // An answer that sends elsewhere is not followed.
    return { isSent: status >= 200 && status < 300, status, retryAfterMs };
  } catch (error) {
    return { isSent: false, error: error instanceof ParleyError ? error.message : String(error) };
  }
};

const logAttempt = async (
  deps: Deps,
  webhook: Webhook,
  { id: eventId, type }: ParleyEvent,
  attempt: number,
  { status, error, tookMs, startedAt }: DeliveryResult,
): Promise<void> => {
  await deps.records.create<WebhookAttempt>(
    {
      pk: webhook.pk,
      sk: `webhook-attempt#${toSortableTime(startedAt)}#${deps.newId()}`,
      eventId,
      type,
      attempt,
      status,
      error: error?.slice(0, 500),
      tookMs,
      startedAt,
      expires: startedAt + ATTEMPT_LOG_MS,
    },
    deps.newId(),
  );
};
