import { type Duration, toMs } from './duration.ts';
import type { Worker } from './worker.ts';

export interface LambdaOptions {
  /** The function ends once nothing has come for so long. */
  idle?: Duration;
  /** Before its time is over, so much is left to give tasks back. */
  margin?: Duration;
}

export interface LambdaSummary {
  completed: number;
  failed: number;
  /** Cancelled, lost, given back, or waiting for an answer. */
  aborted: number;
}

interface LambdaContext {
  getRemainingTimeInMillis(): number;
}

/**
 * A Lambda function that works until nothing comes any more, or until its time is nearly over: what it has not finished then goes
 * back to its queue. `create` makes a worker for each invocation, because a worker that has stopped does not run again.
 */
export const createLambdaHandler =
  (create: () => Worker, { idle = '1s', margin = '5s' }: LambdaOptions = {}) =>
  async (_event: unknown, context: LambdaContext): Promise<LambdaSummary> => {
    const worker = create();
    const summary: LambdaSummary = { completed: 0, failed: 0, aborted: 0 };
    worker.when('completed', () => summary.completed++);
    worker.when('failed', () => summary.failed++);
    worker.when('aborted', () => summary.aborted++);
    const leftMs = context.getRemainingTimeInMillis() - toMs(margin);
    const timer = setTimeout(() => worker.stop({ drain: 0 }), Math.max(0, leftMs));
    try {
      await worker.run({ signals: false, idle });
    } finally {
      clearTimeout(timer);
    }
    return summary;
  };
