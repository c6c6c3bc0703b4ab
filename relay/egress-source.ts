import type { Priority, Queues, ReceivedMessage } from '../shared/ports/queues.ts';

/** Where the relay gets what is on its way to NATS. Messages of one group come in order; what is not deleted comes again. */
export interface EgressSource {
  /** Waits until something is there, for so long at most. */
  receive(priority: Priority, waitMs: number, signal: AbortSignal): Promise<ReceivedMessage[]>;
  delete(messages: ReceivedMessage[]): Promise<void>;
  /** Makes them visible again at once, in their old order. */
  release(messages: ReceivedMessage[]): Promise<void>;
}

/** Long enough to be put into words and published; then it is another relay's. */
export const EGRESS_VISIBILITY_MS = 30_000;
export const MAX_RECEIVE = 10;

/** The queues of an engine in this process. */
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
