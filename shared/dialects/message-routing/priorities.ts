import type { Priority } from '../../ports/queues.ts';

/** 0 to 10, in four parts. */
export const toPriority = (number: number): Priority => {
  if (number >= 9) return 'critical';
  if (number >= 7) return 'high';
  return number >= 3 ? 'normal' : 'low';
};

/** What is said for one that came without a number: the one that stands for each part. */
export const PRIORITY_NUMBERS: Record<Priority, number> = { critical: 10, high: 8, normal: 5, low: 1 };
