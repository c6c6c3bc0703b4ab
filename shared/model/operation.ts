import type { Count } from '../ports/lists.ts';
import type { Item, Ref } from '../ports/records.ts';
import type { TaskFilter } from './task-filter.ts';

export const OPERATION_KINDS = ['cancel', 'retry'] as const;
export type OperationKind = (typeof OPERATION_KINDS)[number];

export const OPERATION_STATUSES = ['running', 'stopping', 'completed', 'stopped'] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

export interface OperationFailure {
  taskId: string;
  code: string;
  message: string;
}

/** The same change of all tasks that a filter matches, page by page, and its progress. */
export interface Operation extends Item {
  sk: 'operation';
  project: string;
  id: string;
  kind: OperationKind;
  filter: TaskFilter;
  by: string;
  /** Only tasks of this agent, which started it. */
  requester?: string;
  reason?: string;
  status: OperationStatus;
  /** Matches when it began. */
  expected: Count;
  createdAt: number;
  /** The tasks that are changed next. A repeated page counts those that it has changed before. */
  page: string[];
  /** Where the list goes on after the page. Absent for the last one. */
  cursor?: string;
  finishedPages: number;
  changed: number;
  /** Those that no longer matched. */
  skipped: number;
  failed: number;
  /** The first ones. */
  failures: OperationFailure[];
  stoppedBy?: string;
  endedAt?: number;
}

export const operationRef = (project: string, id: string): Ref<Operation> => ({
  pk: `${project}#operation#${id}`,
  sk: 'operation',
});

export const isRunning = ({ status }: Pick<Operation, 'status'>): boolean =>
  status === 'running' || status === 'stopping';
