import { getEncoder } from '../../dialects/encoder-registry.ts';
import { getDialect } from '../../dialects/registry.ts';
import type { Effect } from '../../effects/effect.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { buildDirectMessageRelay } from '../../nats/relay-item.ts';
import type { ParleyEvent } from '../../ports/events.ts';
import type { RecordChange } from '../../ports/records.ts';
import type { DirectMessage } from './direct-message.ts';

/** Everything that follows from one write to a note. */
export const computeDirectMessageEffects = ({ before, after }: RecordChange<DirectMessage>): Effect[] => {
  if (!after) return [];
  if (!before) {
    const sent: Effect = { kind: 'announce', event: buildMessageEvent('message.sent', after) };
    return after.toNats ? [sent, { kind: 'enqueue', message: buildDirectMessageRelay(after) }] : [sent];
  }
  if (before.unacknowledgedAt !== after.unacknowledgedAt) {
    return [{ kind: 'announce', event: buildMessageEvent('message.unacknowledged', after) }];
  }
  if (before.placed === undefined || after.placed !== undefined) return [];
  return [{ kind: 'announce', event: buildMessageEvent(getEndEventType(after), after) }];
};

const getEndEventType = ({ readAt, evictedAt }: DirectMessage): DirectMessageEventType => {
  if (evictedAt !== undefined) return 'message.evicted';
  return readAt === undefined ? 'message.expired' : 'message.read';
};

type DirectMessageEventType = `message.${'sent' | 'read' | 'expired' | 'evicted' | 'unacknowledged'}`;

const buildMessageEvent = (type: DirectMessageEventType, note: DirectMessage): ParleyEvent => ({
  id: `note/${note.from}/${note.id}:${note.v}:${type}`,
  project: note.project,
  type,
  at: note.at,
  data: {
    messageId: note.id,
    type: note.type,
    from: note.from,
    to: note.to,
    priority: note.priority,
    correlation: note.correlation,
    traceparent: note.traceparent,
    waitedMs: type === 'message.sent' ? undefined : note.at - note.createdAt,
    logged: buildMessageAuditFields(type, note),
  },
});

const buildMessageAuditFields = (type: DirectMessageEventType, note: DirectMessage): JsonObject | undefined => {
  const message = note.told ?? (type === 'message.sent' ? undefined : buildReceivedEntry(note));
  return message && { ...message, waitedMs: note.at - note.createdAt };
};

const buildReceivedEntry = (note: DirectMessage): JsonObject | undefined =>
  note.heardIn === undefined
    ? undefined
    : { id: note.id, type: getEncoder(getDialect(note.heardIn)).encodeDirectMessage(note, null).type ?? note.type };
