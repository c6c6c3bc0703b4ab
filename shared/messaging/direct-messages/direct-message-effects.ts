import { getEncoder } from '../../dialects/encoder-registry.ts';
import { getDialect } from '../../dialects/registry.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import type { DirectMessage } from '../../model/direct-message.ts';
import type { Effect } from '../../model/effect.ts';
import { buildDirectMessageRelay } from '../../nats/relay-item.ts';
import type { ParleyEvent } from '../../ports/events.ts';
import type { RecordChange } from '../../ports/records.ts';

/** All effects of one write to a direct message. */
export const computeDirectMessageEffects = ({ before, after }: RecordChange<DirectMessage>): Effect[] => {
  if (!after) return [];
  if (!before) {
    if (after.evictedAt !== undefined) return [{ kind: 'publish', event: buildMessageEvent('message.evicted', after) }];
    // The event of the task has told it.
    if (after.taskId !== undefined && !after.deliveryTarget) return [];
    const sent: Effect = { kind: 'publish', event: buildMessageEvent('message.sent', after) };
    return after.deliveryTarget ? [sent, { kind: 'enqueue', message: buildDirectMessageRelay(after) }] : [sent];
  }
  if (before.unacknowledgedAt !== after.unacknowledgedAt) {
    return [{ kind: 'publish', event: buildMessageEvent('message.unacknowledged', after) }];
  }
  if (before.byList === undefined || after.byList !== undefined) return [];
  return [{ kind: 'publish', event: buildMessageEvent(getEndEventType(after), after) }];
};

const getEndEventType = ({ readAt, evictedAt }: DirectMessage): DirectMessageEventType => {
  if (evictedAt !== undefined) return 'message.evicted';
  return readAt === undefined ? 'message.expired' : 'message.read';
};

type DirectMessageEventType = `message.${'sent' | 'read' | 'expired' | 'evicted' | 'unacknowledged'}`;

const buildMessageEvent = (type: DirectMessageEventType, directMessage: DirectMessage): ParleyEvent => ({
  id: `note/${directMessage.from}/${directMessage.id}:${directMessage.v}:${type}`,
  project: directMessage.project,
  type,
  at: directMessage.at,
  data: {
    messageId: directMessage.id,
    type: directMessage.type,
    from: directMessage.from,
    to: directMessage.to,
    priority: directMessage.priority,
    correlation: directMessage.correlation,
    traceparent: directMessage.traceparent,
    waitedMs: type === 'message.sent' ? undefined : directMessage.at - directMessage.createdAt,
    logged: buildMessageAuditFields(type, directMessage),
  },
});

const buildMessageAuditFields = (
  type: DirectMessageEventType,
  directMessage: DirectMessage,
): JsonObject | undefined => {
  const message = directMessage.auditEntry ?? (type === 'message.sent' ? undefined : buildReceivedEntry(directMessage));
  return message && { ...message, waitedMs: directMessage.at - directMessage.createdAt };
};

const buildReceivedEntry = (directMessage: DirectMessage): JsonObject | undefined =>
  directMessage.recipientLogDialect === undefined
    ? undefined
    : {
        id: directMessage.id,
        type:
          getEncoder(getDialect(directMessage.recipientLogDialect)).encodeDirectMessage(directMessage, null).type ??
          directMessage.type,
      };
