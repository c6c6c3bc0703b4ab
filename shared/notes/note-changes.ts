import type { Deps } from '../deps.ts';
import { type Change, is } from '../ports/conditions.ts';
import type { ParleyEvent } from '../ports/events.ts';
import type { RecordChange } from '../ports/records.ts';
import type { Effect } from '../tasks/effects.ts';
import { type Note, noteRef } from './note.ts';

export const isOver = (note: Note, now: number): boolean => note.deadline <= now;

/** Its recipient has read it. */
export const read = (now: number): Change => ({ set: { readAt: now }, unset: ['placed', 'due'] });

/** What time alone does to a note: unread after its time, it leaves the inbox. */
const lapse = (note: Note, now: number): Change => ({
  ...(isOver(note, now) ? { unset: ['placed', 'due'] } : { set: { due: note.deadline } }),
  if: is('v', note.v),
});

export const onNoteDue = async (deps: Deps, note: Note): Promise<void> => {
  await deps.records.update(noteRef(note.project, note.from, note.id), lapse(note, deps.clock.now()), deps.newId());
};

/** Everything that follows from one write to a note. */
export const noteEffects = ({ before, after }: RecordChange<Note>): Effect[] => {
  if (!after) return before && 'blob' in before.content ? [{ kind: 'forget', blob: before.content.blob }] : [];
  if (!before) return [{ kind: 'announce', event: eventOf('message.sent', after) }];
  if (before.placed === undefined || after.placed !== undefined) return [];
  const type = after.readAt === undefined ? 'message.expired' : 'message.read';
  return [{ kind: 'announce', event: eventOf(type, after) }];
};

const eventOf = (type: `message.${'sent' | 'read' | 'expired'}`, note: Note): ParleyEvent => ({
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
    logged: note.told && { ...note.told, waitedMs: note.at - note.createdAt },
  },
});
