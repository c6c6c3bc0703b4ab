import type { Task } from '../../model/task.ts';

type TimedTask = Pick<
  Task,
  'at' | 'status' | 'attempt' | 'createdAt' | 'claimedAt' | 'progress' | 'askedAt' | 'lastAnswer' | 'endedAt'
>;

/** When the status last changed, or was told anew. Renewals of the lease are no change. */
export const getStatusTime = (task: TimedTask): number => {
  const { at, status, attempt, createdAt, claimedAt = 0, progress, askedAt = 0, lastAnswer, endedAt } = task;
  if (endedAt !== undefined) return endedAt;
  // It is in its queue again, and has no time of that.
  if (status === 'requested' && attempt > 0) return at;
  return Math.max(createdAt, claimedAt, progress?.at ?? 0, askedAt, lastAnswer?.at ?? 0);
};
