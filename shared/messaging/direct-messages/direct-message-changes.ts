import type { Deps } from '../../identity/deps.ts';
import { type Change, equals } from '../../ports/conditions.ts';
import { removeMessages } from '../inbox/bounded-inbox.ts';
import { type DirectMessage, directMessageRef, isGap } from './direct-message.ts';

export const isExpired = ({ deadline = Infinity }: DirectMessage, now: number): boolean => deadline <= now;

/** A change may come again for as long as the stream keeps it, which is a day; this is twice as long. */
export const TOMBSTONE_MS = 48 * 3_600_000;

/** It is kept for a while, so that the same message again is known; a ticket until it is closed. */
const buildRetention = (now: number, keepMs: number, isKept: boolean): Change['set'] =>
  isKept ? {} : { expires: now + Math.max(TOMBSTONE_MS, keepMs) };

/** Its recipient has read it. */
export const buildReadChange = (note: DirectMessage, now: number, keepMs: number): Change => ({
  set: { readAt: now, ...buildRetention(now, keepMs, isGap(note)) },
  unset: ['placed', 'due', ...(isGap(note) ? [] : ['held'])],
});

/** Another has its place now. Its sender still finds it among what was not acknowledged. */
export const buildEvictionChange = (now: number, keepMs: number, isKept: boolean): Change => ({
  set: { evictedAt: now, ...buildRetention(now, keepMs, isKept) },
  unset: ['placed', 'due'],
});

/** Unread after its time, it leaves the inbox. Before that, its sender may learn that it is not acknowledged. */
export const onDirectMessageTimer = async (deps: Deps, note: DirectMessage): Promise<void> => {
  const now = deps.clock.now();
  if (isExpired(note, now)) {
    await removeMessages(deps, [note], () => ({ unset: ['placed', 'due'] }));
    return;
  }
  const change: Change = {
    if: equals('v', note.v),
    set: { unacknowledgedAt: isUnacknowledged(note, now) ? now : undefined, due: computeNextMessageCheckAt(note, now) },
    unset: computeNextMessageCheckAt(note, now) === undefined ? ['due'] : [],
  };
  await deps.records.update(directMessageRef(note.project, note.from, note.id), change, deps.newId());
};

const isUnacknowledged = ({ acknowledgeBy = Infinity, unacknowledgedAt }: DirectMessage, now: number): boolean =>
  acknowledgeBy <= now && unacknowledgedAt === undefined;

/** When the timers must look at it after `now`. */
export const computeNextMessageCheckAt = (
  { acknowledgeBy, deadline }: Partial<DirectMessage>,
  now: number,
): number | undefined => {
  const ahead = [acknowledgeBy, deadline].filter((at) => at !== undefined && at > now);
  return ahead.length > 0 ? Math.min(...ahead.map(Number)) : undefined;
};
