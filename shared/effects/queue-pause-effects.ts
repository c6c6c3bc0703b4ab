import type { QueuePauses } from '../identity/queue-pauses.ts';
import type { Effect } from '../model/effect.ts';
import type { EventType } from '../ports/event-types.ts';
import type { RecordChange } from '../ports/records.ts';

/** Publishes which queues were paused and resumed. */
export const computeQueuePauseEffects = ({ before, after }: RecordChange<QueuePauses>): Effect[] => {
  if (!after) return [];
  const { project, at, v } = after;
  const [had, has] = [before?.paused ?? {}, after.paused];
  const publish = (type: EventType, queue: string, data: object): Effect => ({
    kind: 'publish',
    event: { id: `queue/${queue}:${v}:${type}`, project, type, at, data: { queue, ...data } },
  });
  return [
    ...Object.keys(has).flatMap((queue) => (queue in had ? [] : publish('queue.paused', queue, has[queue] ?? {}))),
    ...Object.keys(had).flatMap((queue) => (queue in has ? [] : publish('queue.resumed', queue, {}))),
  ];
};
