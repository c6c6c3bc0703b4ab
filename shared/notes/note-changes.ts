import type { Deps } from '../deps.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import type { Effect } from '../dispatch/effect.ts';
import { leave } from '../inbox/arrivals.ts';
import type { JsonObject } from '../json/json.ts';
import { type Change, is } from '../ports/conditions.ts';
import type { ParleyEvent } from '../ports/events.ts';
import type { RecordChange } from '../ports/records.ts';
import { relayedNote } from '../relay/relayed.ts';
import { isTicket, type Note, noteRef } from './note.ts';

export const isOver = ({ deadline = Infinity }: Note, now: number): boolean => deadline <= now;

/** A change may come again for as long as the stream keeps it, which is a day; this is twice as long. */
export const TOMBSTONE_MS = 48 * 3_600_000;

/** It is kept for a while, so that the same message again is known; a ticket until it is closed. */
const goneUntil = (now: number, keepMs: number, isKept: boolean): Change['set'] =>
  isKept ? {} : { expires: now + Math.max(TOMBSTONE_MS, keepMs) };

/** Its recipient has read it. */
export const read = (note: Note, now: number, keepMs: number): Change => ({
  set: { readAt: now, ...goneUntil(now, keepMs, isTicket(note)) },
  unset: ['placed', 'due', ...(isTicket(note) ? [] : ['held'])],
});

/** Another has its place now. Its sender still finds it among what was not acknowledged. */
export const evicted = (now: number, keepMs: number, isKept: boolean): Change => ({
  set: { evictedAt: now, ...goneUntil(now, keepMs, isKept) },
  unset: ['placed', 'due'],
});

/** Unread after its time, it leaves the inbox. Before that, its sender may learn that it is not acknowledged. */
export const onNoteDue = async (deps: Deps, note: Note): Promise<void> => {
  const now = deps.clock.now();
  if (isOver(note, now)) {
    await leave(deps, [note], () => ({ unset: ['placed', 'due'] }));
    return;
  }
  const change: Change = {
    if: is('v', note.v),
    set: { unacknowledgedAt: isUnacknowledged(note, now) ? now : undefined, due: nextLook(note, now) },
    unset: nextLook(note, now) === undefined ? ['due'] : [],
  };
  await deps.records.update(noteRef(note.project, note.from, note.id), change, deps.newId());
};

const isUnacknowledged = ({ acknowledgeBy = Infinity, unacknowledgedAt }: Note, now: number): boolean =>
  acknowledgeBy <= now && unacknowledgedAt === undefined;

/** When the timers must look at it after `now`. */
export const nextLook = ({ acknowledgeBy, deadline }: Partial<Note>, now: number): number | undefined => {
  const ahead = [acknowledgeBy, deadline].filter((at) => at !== undefined && at > now);
  return ahead.length > 0 ? Math.min(...ahead.map(Number)) : undefined;
};

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
    : { id: note.id, type: dialectNamed(note.heardIn).encodeNote(note, null).type ?? note.type };
