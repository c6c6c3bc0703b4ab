import type { Deps } from '../../identity/deps.ts';
import { type DirectMessage, directMessageRef, isGap } from '../../model/direct-message.ts';
import { type Change, equals } from '../../ports/conditions.ts';
import { removeMessages } from '../inbox/bounded-inbox.ts';

export const isExpired = ({ deadline = Infinity }: DirectMessage, now: number): boolean => deadline <= now;

/** Twice the retention of the stream, which may repeat a change for a day. */
export const TOMBSTONE_MS = 48 * 3_600_000;

/** Stored for a while to recognise a repetition; a gap until it is closed. */
const buildRetention = (now: number, retentionMs: number, isKept: boolean): Change['set'] =>
  isKept ? {} : { expires: now + Math.max(TOMBSTONE_MS, retentionMs) };

export const buildReadChange = (directMessage: DirectMessage, now: number, retentionMs: number): Change => ({
  set: { readAt: now, ...buildRetention(now, retentionMs, isGap(directMessage)) },
  unset: ['byList', 'due', ...(isGap(directMessage) ? [] : ['byHolder'])],
});

/** It was evicted. Its sender still finds it among unacknowledged messages. */
export const buildEvictionChange = (now: number, retentionMs: number, isKept: boolean): Change => ({
  set: { evictedAt: now, ...buildRetention(now, retentionMs, isKept) },
  unset: ['byList', 'due'],
});

/** Tells the sender of a missing acknowledgement, and removes an expired message. */
export const onDirectMessageTimer = async (deps: Deps, directMessage: DirectMessage): Promise<void> => {
  const now = deps.clock.now();
  if (isExpired(directMessage, now)) {
    await removeMessages(deps, [directMessage], () => ({ unset: ['byList', 'due'] }));
    return;
  }
  const change: Change = {
    if: equals('v', directMessage.v),
    set: {
      unacknowledgedAt: isUnacknowledged(directMessage, now) ? now : undefined,
      due: computeNextMessageCheckAt(directMessage, now),
    },
    unset: computeNextMessageCheckAt(directMessage, now) === undefined ? ['due'] : [],
  };
  await deps.records.update(
    directMessageRef(directMessage.project, directMessage.from, directMessage.id),
    change,
    deps.newId(),
  );
};

const isUnacknowledged = ({ acknowledgeBy = Infinity, unacknowledgedAt }: DirectMessage, now: number): boolean =>
  acknowledgeBy <= now && unacknowledgedAt === undefined;

export const computeNextMessageCheckAt = (
  { acknowledgeBy, deadline }: Partial<DirectMessage>,
  now: number,
): number | undefined => {
  const ahead = [acknowledgeBy, deadline].filter((at) => at !== undefined && at > now);
  return ahead.length > 0 ? Math.min(...ahead.map(Number)) : undefined;
};
