import type { z } from 'zod';
import { compilePattern, type Matches } from '../events/event-pattern.ts';
import type { EventSourceMapping } from '../resources/compute.ts';

export type MappingProperties = z.output<typeof EventSourceMapping.properties>;

export interface RunningMapping {
  /** Finishes the current batch and takes no other. */
  stop(): Promise<void>;
}

export const parseFilter = ({ FilterCriteria }: MappingProperties): Matches => {
  const filters = (FilterCriteria?.Filters ?? []).map(({ Pattern }) => compilePattern(JSON.parse(Pattern)));
  return (record) => filters.length === 0 || filters.some((matches) => matches(record));
};

export const reportsFailures = ({ FunctionResponseTypes }: Pick<MappingProperties, 'FunctionResponseTypes'>): boolean =>
  FunctionResponseTypes.includes('ReportBatchItemFailures');
