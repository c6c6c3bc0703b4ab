import { getAuditDialect } from '../../dialects/is-audited.ts';
import { recordWithAlert } from '../../events/metric-alerts.ts';
import type { Agent } from '../../identity/agents/agent.ts';
import { buildControlWrite, checkControlApplied } from '../../identity/agents/agent-control.ts';
import { findAgent } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { assertMaxSize } from '../../kernel/json/json.ts';
import { logRateLimited } from '../../kernel/log.ts';
import { retryOnConflict } from '../../kernel/retry-on-conflict.ts';
import { assertSameMessage } from '../../kernel/same-request.ts';
import { createChildSpan, type Trace } from '../../kernel/trace.ts';
import type { DirectMessageCommand } from '../../model/command.ts';
import { inboxPk, inboxSortKey } from '../../model/delivery.ts';
import { type DirectMessage, directMessageRef, isDirectMessage, isGap } from '../../model/direct-message.ts';
import { unacknowledgedKey } from '../../model/task.ts';
import type { NewItem, TransactionWrite } from '../../ports/records.ts';
import { deleteOrphans, type StoredContent, storeContent, withBlobCleanup } from '../../storage/content.ts';
import { type InboxAdmission, planAdmission } from '../inbox/bounded-inbox.ts';
import { buildEvictionChange, computeNextMessageCheckAt } from './direct-message-changes.ts';
import { gapKey } from './gaps.ts';

/** The sender's project and dialect, and whether the recipient sees the message. */
interface SendOptions {
  project: string;
  dialect: string;
  trace: Trace;
  isVisible: boolean;
  isPartialAudience?: boolean;
  /** Not rejected if the bounded inbox rejects new messages. */
  isDroppable?: boolean;
}

/** Delivers or only stores the message. Idempotent. */
export const sendDirectMessage = async (
  deps: Deps,
  sending: SendOptions,
  message: DirectMessageCommand,
): Promise<{ duplicate: boolean }> => {
  const { project } = sending;
  const { inputBytes, extensionBytes } = deps.config.limits;
  const measured = assertMaxSize('The content of the message', message.content, inputBytes);
  assertMaxSize('What the message carries beside it', message.extensions, extensionBytes);
  const recipient = await findAgent(deps, project, message.to);
  if (!recipient) {
    // An accepted message stays accepted, even if its recipient is gone.
    const accepted = await deps.records.get(directMessageRef(project, message.from, message.messageId));
    if (accepted?.fingerprint === message.fingerprint) return { duplicate: true };
    throw new ParleyError(
      'unknown_agent',
      `No agent ${message.to} is registered, so that nobody would ever read this.`,
    );
  }
  const content = await storeContent(deps, project, message.messageId, measured);
  const directMessage = buildDirectMessage(deps, sending, recipient.agent, message, content);
  const existing = await withBlobCleanup(deps.blobs, [content], () =>
    writeMessage(deps, recipient.agent, directMessage, { ...message, isDroppable: sending.isDroppable }),
  );
  if (existing === 'written') return { duplicate: false };
  await deleteOrphans(deps.blobs, [content], [existing?.content]);
  assertSameMessage(existing, message);
  return { duplicate: true };
};

/** Senders that find a bounded inbox full at once want the same slot. These last for about 10 s. */
const ADMISSION_RETRIES = { attempts: 25, pauseMs: 20, maxPauseMs: 1000 };

interface WriteOptions extends Pick<DirectMessageCommand, 'controlCommand'> {
  /** Then it is stored as evicted. */
  isDroppable?: boolean;
}

/** The message that was there before, unless this one was written. */
export const writeMessage = async (
  deps: Deps,
  recipient: Agent,
  directMessage: NewItem<DirectMessage>,
  { controlCommand, isDroppable }: WriteOptions = {},
): Promise<'written' | DirectMessage | undefined> => {
  const { project, from, to } = directMessage;
  let control = controlCommand ? [buildControlWrite(deps, project, to, from, controlCommand)] : [];
  const isCounted = directMessage.byList !== undefined && recipient.inboxLimit !== undefined;
  if (!isCounted && control.length === 0) {
    const created = await deps.records.create<DirectMessage>(directMessage, deps.newId());
    return created.outcome === 'written' ? 'written' : created.existing;
  }
  const token = deps.newId();
  const { result } = await retryOnConflict(`the inbox of ${to}`, ADMISSION_RETRIES, async () => {
    const admission = isCounted ? await planMessageAdmission(deps, recipient, directMessage) : undefined;
    if (admission instanceof Error) {
      const isDropped = isDroppable && (await writeDropped(deps, directMessage));
      return { result: isDropped || (await findAccepted(deps, directMessage, admission)) };
    }
    const own: TransactionWrite = { kind: 'create', item: { ...directMessage, inboxSlot: admission?.slot } };
    const done = await deps.records.transact([own, ...control, ...(admission?.writes ?? [])], token);
    if (done.outcome === 'written') {
      if (controlCommand) deps.directory.invalidate(project, to);
      if (admission) await recordAdmission(deps, recipient, admission);
      return { result: 'written' as const };
    }
    if (done.at === 0) return { result: done.existing && isDirectMessage(done.existing) ? done.existing : undefined };
    if (controlCommand && control.length > 0 && done.at === 1) {
      const refusal = checkControlApplied(controlCommand, to);
      if (refusal) throw refusal;
      control = [];
    }
    return undefined;
  });
  return result;
};

const writeDropped = async (
  deps: Deps,
  { byList: _inbox, ...directMessage }: NewItem<DirectMessage>,
): Promise<'written' | DirectMessage | undefined> => {
  const now = deps.clock.now();
  const expires = now + deps.config.tasks.retentionMs;
  const dropped = { ...directMessage, evictedAt: now, expires };
  const created = await deps.records.create<DirectMessage>(dropped, deps.newId());
  return created.outcome === 'written' ? 'written' : created.existing;
};

/** An accepted message stays accepted, even if the inbox is full now. */
const findAccepted = async (
  deps: Deps,
  { pk, sk }: NewItem<DirectMessage>,
  refusal: ParleyError,
): Promise<DirectMessage> => {
  const earlier = await deps.records.get<DirectMessage>({ pk, sk });
  if (earlier) return earlier;
  throw refusal;
};

const planMessageAdmission = (deps: Deps, recipient: Agent, directMessage: NewItem<DirectMessage>) => {
  const { project, from, id } = directMessage;
  return planAdmission(deps, recipient, { from, id, isGap: isGap(directMessage) ? true : undefined }, (oldest) => ({
    kind: 'update',
    key: directMessageRef(project, oldest.from, oldest.id),
    // In the inbox for as long as it is stored.
    change: buildEvictionChange(deps.clock.now(), deps.config.tasks.retentionMs, oldest.isGap ?? false),
  }));
};

/** As a share of the limit. */
const DEPTH_ALERT_SHARE = 0.8;

/** An eviction is also an event. */
const recordAdmission = async (
  deps: Deps,
  { project, id: agent, inboxLimit = 0 }: Agent,
  { depth, evicted: gone }: InboxAdmission,
): Promise<void> => {
  const labels = { project, agent };
  const alert = { labels, agent, threshold: inboxLimit * DEPTH_ALERT_SHARE };
  await recordWithAlert(deps, 'inbox_depth', depth, alert);
  if (!gone) return;
  deps.recordMetric('eviction_count', 1, labels);
  const facts = { inboxDepth: depth, evicted: gone.id, from: gone.from };
  logRateLimited(deps, labels, 'inbox full, oldest message evicted', facts);
};

const buildDirectMessage = (
  deps: Deps,
  { project, dialect, trace, isVisible, isPartialAudience }: SendOptions,
  recipient: Agent,
  message: DirectMessageCommand,
  content: StoredContent,
): NewItem<DirectMessage> => {
  const now = deps.clock.now();
  const { from, to, messageId: id, ttlSeconds, acknowledgeTimeoutMs, sequenceInfo } = message;
  const deadline = ttlSeconds === undefined ? undefined : now + ttlSeconds * 1000;
  const acknowledgeBy = acknowledgeTimeoutMs === undefined ? undefined : now + acknowledgeTimeoutMs;
  const byList = { pk: inboxPk(project, to), sk: inboxSortKey(sequenceInfo?.at ?? now, id, sequenceInfo?.sequence) };
  return {
    ...directMessageRef(project, from, id),
    sk: 'direct-message',
    project,
    id,
    dialect,
    from,
    to,
    toInstance: message.instance,
    type: message.type,
    priority: message.priority,
    createdAt: now,
    ttlSeconds,
    deadline,
    acknowledgeBy,
    correlation: message.correlation,
    content,
    extensions: message.extensions,
    // A hidden message was something else, which has its own audit entry.
    ...(isVisible && { auditEntry: message.auditEntry, recipientLogDialect: getAuditDialect(deps.config, recipient) }),
    fingerprint: message.fingerprint,
    ...createChildSpan(trace),
    ...buildRetentionFields(message, project, now, deps.config.tasks.retentionMs),
    ...(isVisible && {
      due: computeNextMessageCheckAt({ acknowledgeBy, deadline }, now),
      // Agents on NATS have no inbox.
      ...(recipient.transport === 'nats'
        ? { deliveryTarget: isPartialAudience ? ('natsPartialAudience' as const) : ('nats' as const) }
        : { byList }),
    }),
  };
};

/** A gap until it is closed; without a time to live until it is read; otherwise as long as a task. */
const buildRetentionFields = (message: DirectMessageCommand, project: string, now: number, retentionMs: number) => {
  const { isGap: ticket, from, messageId: id, ttlSeconds, acknowledgeTimeoutMs } = message;
  if (ticket) return { byHolder: gapKey({ project, from, id }, 'open', now) };
  return {
    byHolder: acknowledgeTimeoutMs === undefined ? undefined : unacknowledgedKey(project, from, now, id),
    expires: ttlSeconds === undefined ? undefined : now + Math.max(ttlSeconds * 1000, retentionMs),
  };
};
