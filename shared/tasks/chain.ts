import type { Task } from './task.ts';

/** Who had the work in hand before the one who is given it, the requester last. */
export const chainOf = ({ chain, from }: Pick<Task, 'chain' | 'from'>): string[] => chain ?? [from];
