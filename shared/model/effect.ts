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
import type { TurnEffect } from './turn-effect.ts';

/** What must follow from a write, each safe to be carried out twice. */
export type Effect =
  | { kind: 'enqueue'; message: QueueMessage }
  | { kind: 'publish'; event: ParleyEvent }
  | { kind: 'deliver'; delivery: NewItem<Delivery> }
  /** For the inbox of a requester that reads all of it. */
  | { kind: 'deliverReport'; report: InboxReport }
  | { kind: 'appendHistory'; entry: NewItem<HistoryEntry> }
  /** A record has come to name a blob, or names it no more. */
  | { kind: 'retain'; blob: string }
  | { kind: 'release'; blob: string }
  /** For everybody on NATS, where the project has a relay. */
  | { kind: 'relay'; message: QueueMessage }
  /** The children of a task, all that are still open. */
  | { kind: 'cancelChildren'; of: Task; change: Change }
  /** What a task waits for, and all that wait for a task. */
  | { kind: 'reconcileDependencies'; of: Task }
  | { kind: 'reconcileDependents'; of: Task }
  /** A node of a graph has ended or begun again; and all nodes are to be cancelled. */
  | { kind: 'reconcileGraph'; project: string; graph: string }
  | { kind: 'cancelGraphNodes'; of: Graph }
  | { kind: 'recordBatchItemEnd'; project: string; batchMembership: BatchMembership; end: BatchItemEnd }
  /** A batch has ended before one of its items. */
  | { kind: 'stopBatchItem'; project: string; item: BatchItem }
  | TurnEffect;
