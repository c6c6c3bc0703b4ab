import type { Deps } from '../identity/deps.ts';
import type { Collector, MetricRegistry } from '../kernel/metric-registry.ts';
import type { MetricName } from '../kernel/metrics.ts';
import { formatQueueId, listQueueStates, type QueueState } from './list-queue-states.ts';

/** Of a project. The others are in `GET /v1/queues`. */
const MAX_QUEUES = 200;
/** A scraper comes often, so that a deep queue is estimated sooner than there. */
const MAX_TASKS_READ = 1000;
const GAUGES = ['queue_depth', 'queue_oldest_age_ms', 'queue_in_flight'] as const satisfies MetricName[];

const listBusyQueues = async (deps: Deps, project: string): Promise<QueueState[]> => {
  const { queues } = await listQueueStates(
    deps,
    { role: 'admin', project },
    { limit: MAX_QUEUES, maxTasksRead: MAX_TASKS_READ },
  );
  return queues.filter(({ waiting, inFlight }) => waiting.value > 0 || inFlight.value > 0);
};

const computeAge = ({ clock }: Deps, since: number): number => Math.max(0, clock.now() - since);

/** Queues in which nothing waits and of which nothing is in flight are left out. */
export const createQueueCollector =
  (deps: Deps, metrics: MetricRegistry): Collector =>
  async (project) => {
    const queues = await listBusyQueues(deps, project);
    for (const gauge of GAUGES)
      for (const [labels] of metrics.listValues(gauge, project)) metrics.remove(gauge, labels);
    for (const state of queues) {
      const { waiting, inFlight, oldestWaitingSince } = state;
      const labels = { project, queue: formatQueueId(state) };
      metrics.record('queue_depth', waiting.value, labels);
      metrics.record('queue_in_flight', inFlight.value, labels);
      if (oldestWaitingSince !== undefined)
        metrics.record('queue_oldest_age_ms', computeAge(deps, oldestWaitingSince), labels);
    }
  };

/** Of all queues together: a metric for each would be paid for each. None where nothing waits or is in flight. */
export const recordQueueTotals = async (deps: Deps, project: string): Promise<void> => {
  const queues = await listBusyQueues(deps, project);
  if (queues.length === 0) return;
  const sum = (count: (state: QueueState) => number): number =>
    queues.reduce((total, state) => total + count(state), 0);
  deps.recordMetric(
    'queue_depth',
    sum(({ waiting }) => waiting.value),
    { project },
  );
  deps.recordMetric(
    'queue_in_flight',
    sum(({ inFlight }) => inFlight.value),
    { project },
  );
  const oldest = Math.min(...queues.map(({ oldestWaitingSince = Number.POSITIVE_INFINITY }) => oldestWaitingSince));
  if (Number.isFinite(oldest)) deps.recordMetric('queue_oldest_age_ms', computeAge(deps, oldest), { project });
};
