import { dialectNamed } from '../dialects/dialects.ts';
import { encoderOf } from '../dialects/encoders.ts';
import type { Effect } from '../dispatch/effect.ts';
import type { JsonObject } from '../json/json.ts';
import type { ParleyEvent } from '../ports/events.ts';
import type { RecordChange } from '../ports/records.ts';
import { relayedNote } from '../relay/relayed.ts';
import type { Note } from './note.ts';

/** Everything that follows from one write to a note. */
export const noteEffects = ({ before, after }: RecordChange<Note>): Effect[] => {
  if (!after) return [];
  if (!before) {
    const sent: Effect = { kind: 'announce', event: eventOf('message.sent', after) };
    return after.toNats ? [sent, { kind: 'enqueue', message: relayedNote(after) }] : [sent];
  }
  if (before.unacknowledgedAt !== after.unacknowledgedAt) {
    return [{ kind: 'announce', event: eventOf('message.unacknowledged', after) }];
  }
  if (before.placed === undefined || after.placed !== undefined) return [];
  return [{ kind: 'announce', event: eventOf(endOf(after), after) }];
};

const endOf = ({ readAt, evictedAt }: Note): NoteEvent => {
  if (evictedAt !== undefined) return 'message.evicted';
  return readAt === undefined ? 'message.expired' : 'message.read';
};

type NoteEvent = `message.${'sent' | 'read' | 'expired' | 'evicted' | 'unacknowledged'}`;

const eventOf = (type: NoteEvent, note: Note): ParleyEvent => ({
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
    logged: loggedIn(type, note),
  },
});

const loggedIn = (type: NoteEvent, note: Note): JsonObject | undefined => {
  const message = note.told ?? (type === 'message.sent' ? undefined : heard(note));
  return message && { ...message, waitedMs: note.at - note.createdAt };
};

const heard = (note: Note): JsonObject | undefined =>
  note.heardIn === undefined
    ? undefined
    : { id: note.id, type: encoderOf(dialectNamed(note.heardIn)).encodeNote(note, null).type ?? note.type };
