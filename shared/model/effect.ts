import type { Change } from '../ports/conditions.ts';
import type { ParleyEvent } from '../ports/events.ts';
import type { QueueMessage } from '../ports/queues.ts';
import type { NewItem } from '../ports/records.ts';
import type { BatchItem, BatchItemEnd } from './batch.ts';
import type { Delivery } from './delivery.ts';
import type { Graph } from './graph.ts';
import type { HistoryEntry } from './history.ts';
import type { InboxReport } from './inbox-report.ts';
import type { BatchMembership, Task } from './task.ts';
import type { TaskListing } from './task-listing.ts';
import type { TurnEffect } from './turn-effect.ts';

/** The consequences of a write. All are idempotent. */
export type Effect =
  | { kind: 'enqueue'; message: QueueMessage }
  | { kind: 'publish'; event: ParleyEvent }
  | { kind: 'deliver'; delivery: NewItem<Delivery> }
  /** For requesters that read all reports in their inbox. */
  | { kind: 'deliverReport'; report: InboxReport }
  | { kind: 'appendHistory'; entry: NewItem<HistoryEntry> }
  /** For requesters that list tasks by their last change. */
  /** For agents that Parley calls: it is queued, answered or taken away. */
  | { kind: 'wakeAgentCallers'; task: Task }
  /** To those who asked to be told of the task. */
  | { kind: 'push'; taskId: string; event: ParleyEvent }
  | { kind: 'putListing'; listing: NewItem<TaskListing> }
  /** A record refers to a blob, or no longer does. */
  | { kind: 'retain'; blob: string }
  | { kind: 'release'; blob: string }
  /** For everybody on NATS, if the project has a relay. */
  | { kind: 'relay'; message: QueueMessage }
  /** A limit may have room for tasks that wait. */
  | { kind: 'startWaiting'; project: string; key: string }
  /** The open subtasks of a task. */
  | { kind: 'cancelChildren'; of: Task; change: Change }
  /** Of a task, and of all tasks that depend on it. */
  | { kind: 'reconcileDependencies'; of: Task }
  | { kind: 'reconcileDependents'; of: Task }
  /** A node has ended or was retried; all nodes are to be cancelled. */
  | { kind: 'reconcileGraph'; project: string; graph: string }
  | { kind: 'cancelGraphNodes'; of: Graph }
  /** To the inbox of its requester. */
  | { kind: 'deliverGraphEnd'; of: Graph }
  | { kind: 'recordBatchItemEnd'; project: string; batchMembership: BatchMembership; end: BatchItemEnd }
  /** A batch has ended before one of its items. */
  | { kind: 'stopBatchItem'; project: string; item: BatchItem }
  | TurnEffect;
