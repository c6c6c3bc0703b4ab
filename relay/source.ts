import type { Priority, Queues, Received } from '../shared/ports/queues.ts';

/** Where the relay gets what is on its way to NATS. Messages of one group come in order; what is not deleted comes again. */
export interface Source {
  /** Waits until something is there, for so long at most. */
  receive(priority: Priority, waitMs: number, signal: AbortSignal): Promise<Received[]>;
  delete(messages: Received[]): Promise<void>;
  /** Makes them visible again at once, in their old order. */
  release(messages: Received[]): Promise<void>;
}

/** Long enough to be put into words and published; then it is another relay's. */
export const VISIBILITY_MS = 30_000;
export const MOST_AT_ONCE = 10;

/** The queues of an engine in this process. */
export const queueSource = (queues: Queues, project: string): Source => ({
  receive: (priority, waitMs, signal) =>
    queues.receive([{ project, kind: 'relay', name: 'down', priority }], {
      max: MOST_AT_ONCE,
      waitMs,
      visibilityMs: VISIBILITY_MS,
      signal,
    }),
  delete: (messages) => queues.delete(messages),
  release: (messages) => queues.release(messages),
});
