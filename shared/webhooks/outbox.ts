import { getSubjectId } from '../events/cloud-event.ts';
import type { Deps } from '../identity/deps.ts';
import { DAY_MS } from '../kernel/retention.ts';
import { retryOnConflict } from '../kernel/retry-on-conflict.ts';
import {
  isWebhook,
  type Outbox,
  outboxRef,
  type PushConfig,
  pushConfigPk,
  type Webhook,
  type WebhookTarget,
} from '../model/webhook.ts';
import { equals } from '../ports/conditions.ts';
import { matchesTypes, type ParleyEvent } from '../ports/events.ts';
import { listKnownWebhooks } from './list-webhooks.ts';

/** Longer than the last retry. */
const OUTBOX_MS = 10 * DAY_MS;
/** Of one subject and receiver. Progress is left out first. */
const MAX_PENDING = 64;
const MAX_PENDING_BYTES = 150_000;
const MAX_SENT_IDS = 64;

/** An event of a task, for those who asked to be told of that task. */
export interface PushedEvent {
  taskId: string;
  event: ParleyEvent;
}

/** Adds events to what webhooks are to be sent. */
export const queueForWebhooks = async (deps: Deps, events: readonly ParleyEvent[]): Promise<void> => {
  for (const [project, own] of Map.groupBy(events, ({ project }) => project)) {
    const webhooks = await listKnownWebhooks(deps, project);
    for (const webhook of webhooks) {
      if (webhook.disabledAt !== undefined) continue;
      for (const event of own) if (isWanted(webhook, event)) await addToOutbox(deps, webhook, event);
    }
  }
};

const isWanted = ({ types, agent, domain, taskId }: Webhook, { type, data }: ParleyEvent): boolean =>
  matchesTypes(types, type) &&
  (agent === undefined || [data.from, data.to, data.agent].includes(agent)) &&
  (domain === undefined || data.domain === domain) &&
  (taskId === undefined || data.taskId === taskId);

export const queueForPush = async (deps: Deps, { taskId, event }: PushedEvent): Promise<void> => {
  const pk = pushConfigPk(event.project, taskId);
  const configs = await deps.records.query<PushConfig>({ pk, prefix: 'push-config#', limit: MAX_PUSH_CONFIGS });
  for (const config of configs) await addToOutbox(deps, config, event);
};

export const MAX_PUSH_CONFIGS = 16;

export const addToOutbox = (deps: Deps, target: WebhookTarget, event: ParleyEvent): Promise<void> =>
  retryOnConflict(`the outbox of ${target.id}`, { attempts: 10 }, async () => {
    // What is sent in order.
    const subject = isWebhook(target) ? (getSubjectId(event.data) ?? 'project') : target.taskId;
    const { project, pk, sk } = target;
    const ref = outboxRef(project, { pk, sk }, subject);
    const now = deps.clock.now();
    const known = await deps.records.get(ref);
    if (!known) {
      const fields = { project, target: { pk, sk }, subject, pending: [event], sent: [], attempt: 0 };
      const item = { ...ref, sk: 'outbox' as const, ...fields, due: now, expires: now + OUTBOX_MS };
      const created = await deps.records.create<Outbox>(item, deps.newId());
      return created.outcome === 'written' ? DONE : undefined;
    }
    if (known.sent.includes(event.id) || known.pending.some(({ id }) => id === event.id)) return DONE;
    const change = {
      if: equals('v', known.v),
      set: { pending: fitPending([...known.pending, event]), due: known.due ?? now, expires: now + OUTBOX_MS },
    };
    const written = await deps.records.update(ref, change, deps.newId());
    return written.outcome === 'written' ? DONE : undefined;
  }).then(() => {});

const DONE = true;

/** The first is perhaps being sent. */
const fitPending = (events: ParleyEvent[]): ParleyEvent[] => {
  const kept = [...events];
  while (kept.length > MAX_PENDING || JSON.stringify(kept).length > MAX_PENDING_BYTES) {
    const at = kept.findIndex(({ type }, index) => index > 0 && type === 'task.progress');
    kept.splice(at > 0 ? at : 1, 1);
    if (kept.length === 1) break;
  }
  return kept;
};

/** What follows from an answer: the next one, a later attempt, or the end of it. */
export const settleOutbox = (
  deps: Deps,
  outbox: Outbox,
  eventId: string,
  outcome: { isSent: true } | { retryAt: number; attempt: number },
): Promise<void> =>
  retryOnConflict(`the outbox ${outbox.pk}`, { attempts: 10 }, async () => {
    const ref = { pk: outbox.pk, sk: outbox.sk };
    const known = await deps.records.get<Outbox>(ref);
    if (!known || known.pending[0]?.id !== eventId) return DONE;
    const now = deps.clock.now();
    const rest = known.pending.slice(1);
    const settled =
      'isSent' in outcome
        ? { pending: rest, sent: [...known.sent, eventId].slice(-MAX_SENT_IDS), attempt: 0 }
        : { attempt: outcome.attempt };
    const due = 'isSent' in outcome ? (rest.length > 0 ? now : undefined) : outcome.retryAt;
    const change = {
      if: equals('v', known.v),
      set: { ...settled, due },
      unset: due === undefined ? ['due'] : [],
    };
    const written = await deps.records.update(ref, change, deps.newId());
    return written.outcome === 'written' ? DONE : undefined;
  }).then(() => {});
