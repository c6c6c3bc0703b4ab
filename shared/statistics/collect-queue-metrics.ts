import type { Deps } from '../identity/deps.ts';
import type { Collector, MetricRegistry } from '../kernel/metric-registry.ts';
import type { MetricName } from '../kernel/metrics.ts';
import { formatQueueId, listQueueStates } from './list-queue-states.ts';

/** Of a project. The others are in `GET /v1/queues`. */
const MAX_QUEUES = 200;
/** A scraper comes often, so that a deep queue is estimated sooner than there. */
const MAX_TASKS_READ = 1000;
const GAUGES = ['queue_depth', 'queue_oldest_age_ms', 'queue_in_flight'] as const satisfies MetricName[];

/** Queues in which nothing waits and of which nothing is in flight are left out. */
export const createQueueCollector =
  (deps: Deps, metrics: MetricRegistry): Collector =>
  async (project) => {
    const { queues } = await listQueueStates(
      deps,
      { role: 'admin', project },
      { limit: MAX_QUEUES, maxTasksRead: MAX_TASKS_READ },
    );
    for (const gauge of GAUGES)
      for (const [labels] of metrics.listValues(gauge, project)) metrics.remove(gauge, labels);
    for (const state of queues) {
      const { waiting, inFlight, oldestWaitingSince } = state;
      if (waiting.value === 0 && inFlight.value === 0) continue;
      const labels = { project, queue: formatQueueId(state) };
      metrics.record('queue_depth', waiting.value, labels);
      metrics.record('queue_in_flight', inFlight.value, labels);
      if (oldestWaitingSince !== undefined)
        metrics.record('queue_oldest_age_ms', Math.max(0, deps.clock.now() - oldestWaitingSince), labels);
    }
  };
