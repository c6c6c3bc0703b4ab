import { SWEEP_LOOKAHEAD_MS } from '../shared/engines/aws/aws-timers.ts';
import { inspectQueues } from '../shared/engines/aws/inspect-queues.ts';
import { recordQueueTotals } from '../shared/statistics/collect-queue-metrics.ts';
import { createRuntime } from './runtime/composition.ts';
import { createHandler } from './runtime/create-handler.ts';
import { logger } from './runtime/function-logger.ts';
import { publishCounts } from './runtime/metrics.lazy.ts';
import { flushMetrics } from './runtime/metrics-buffer.ts';

const { engine, deps } = createRuntime({ inspectQueues });

/** The queues are looked at less often than the timers: that reads more. */
const QUEUE_METRICS_MS = 5 * 60_000;
let measuredAt = 0;

interface SweepEvent {
  /** Now, whenever they were measured. */
  measuresQueues?: boolean;
}

/** Enough to send what was found. */
const TIME_MARGIN_MS = 15_000;

/** Every minute: what is due until the next one goes to the delay queue, and then a share of what is overdue. */
export const handler = createHandler<SweepEvent, void>(async ({ measuresQueues }, context) => {
  const { clock } = deps;
  const deadline = clock.now() + context.getRemainingTimeInMillis() - TIME_MARGIN_MS;
  const { newlyDue, overdue } = await engine.timers.sweep(clock.now() + SWEEP_LOOKAHEAD_MS, { deadline });
  logger.info('swept', { newlyDue, overdue });
  publishCounts({ DueSwept: newlyDue + overdue });
  if (measuresQueues || deps.clock.now() - measuredAt >= QUEUE_METRICS_MS) await measureQueues();
});

/** Whatever happens to it, the timers go on. */
const measureQueues = async (): Promise<void> => {
  measuredAt = deps.clock.now();
  try {
    for (const project of Object.keys(deps.config.projects)) await recordQueueTotals(deps, project);
    await flushMetrics();
  } catch (error) {
    logger.warn('queues not measured', { error: String(error) });
  }
};
