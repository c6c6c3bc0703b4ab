import type { Priority, Queues, ReceivedMessage } from '../shared/ports/queues.ts';

/** Messages of one group arrive in order. A message that is not deleted arrives again. */
export interface EgressSource {
  receive(priority: Priority, waitMs: number, signal: AbortSignal): Promise<ReceivedMessage[]>;
  delete(messages: ReceivedMessage[]): Promise<void>;
  /** Makes them visible again at once, in their old order. */
  release(messages: ReceivedMessage[]): Promise<void>;
}

/** Enough to render and publish; then another relay may receive the message. */
export const EGRESS_VISIBILITY_MS = 30_000;
export const MAX_RECEIVE = 10;

export const createQueueSource = (queues: Queues, project: string): EgressSource => ({
  receive: (priority, waitMs, signal) =>
    queues.receive([{ project, kind: 'relay', name: 'egress', priority }], {
      max: MAX_RECEIVE,
      waitMs,
      visibilityMs: EGRESS_VISIBILITY_MS,
      signal,
    }),
  delete: (messages) => queues.delete(messages),
  release: (messages) => queues.release(messages),
});
