import type { Deps } from '../deps.ts';
import { leave } from '../inbox/arrivals.ts';
import { type Change, is } from '../ports/conditions.ts';
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
