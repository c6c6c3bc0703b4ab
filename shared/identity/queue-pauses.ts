import { getDomain, type QueueKey } from '../ports/queues.ts';
import type { Item, Ref } from '../ports/records.ts';
import type { Deps } from './deps.ts';

export interface QueuePause {
  by: string;
  reason?: string;
  since: number;
}

/** Of one project, by queue: few, and read by every claim from the cache. */
export interface QueuePauses extends Item {
  sk: 'queue-pauses';
  project: string;
  paused: PausedQueues;
}

/** By `domain:<name>` or `capability:<name>`. */
export type PausedQueues = Readonly<Record<string, QueuePause>>;
export type PausableQueue = Pick<QueueKey, 'kind' | 'name'>;

/** The same object wherever nothing is paused, so that a claim knows it at once. */
export const NO_PAUSED_QUEUES: PausedQueues = {};

export const queuePausesRef = (project: string): Ref<QueuePauses> => ({
  pk: `${project}#queue-pauses`,
  sk: 'queue-pauses',
});

export const formatPausableQueue = ({ kind, name }: PausableQueue): string => `${kind}:${name}`;

/** A pause of a domain is one of all its capabilities. Queues of agents are paused with their agents. */
export const findQueuePause = (
  paused: PausedQueues,
  { kind, name }: PausableQueue,
): ({ queue: string } & QueuePause) | undefined => {
  if (paused === NO_PAUSED_QUEUES || (kind !== 'domain' && kind !== 'capability')) return undefined;
  const domain = kind === 'capability' ? getDomain(name) : undefined;
  const names = [`${kind}:${name}`, ...(domain === undefined ? [] : [`domain:${domain}`])];
  for (const queue of names) {
    const pause = Object.hasOwn(paused, queue) ? paused[queue] : undefined;
    if (pause) return { queue, ...pause };
  }
  return undefined;
};

/** At most 5 s old, and never in the process that changed it. */
export const getPausedQueues = ({ directory }: Pick<Deps, 'directory'>, project: string): Promise<PausedQueues> =>
  directory.getPausedQueues(project);
