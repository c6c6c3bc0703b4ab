import type { Deps } from '../identity/deps.ts';
import type { ParleyEvent } from '../ports/events.ts';
import type { RecordChange } from '../ports/records.ts';
import { toEntry } from '../statistics/count-event.ts';

/** Once for each dispatch: what is dispatched again is measured again. */
export const recordTaskMetrics = ({ recordMetric }: Deps, event: ParleyEvent): void => {
  const entry = toEntry(event);
  if (!entry) return;
  const labels = { project: event.project };
  for (const name of entry.counts) {
    recordMetric(`task_${name}_count`, 1, labels);
    if (name === 'failed' || name === 'expired') recordMetric('dead_letter_count', 1, labels);
  }
  if (entry.claimMs !== undefined) recordMetric('task_claim_latency_ms', entry.claimMs, labels);
  if (entry.endMs !== undefined) recordMetric('task_end_latency_ms', entry.endMs, labels);
};

/** How far what follows is behind what was written. */
export const recordChangeLag = ({ recordMetric, clock }: Deps, changes: readonly RecordChange[]): void => {
  const [first] = changes;
  const project = (first?.after ?? first?.before)?.pk.split('#', 1)[0];
  const oldest = changes.reduce((least, { after }) => Math.min(least, after?.at ?? Infinity), Infinity);
  if (project !== undefined && oldest < Infinity)
    recordMetric('change_lag_ms', Math.max(0, clock.now() - oldest), { project });
};
