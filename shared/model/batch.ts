import { ParleyError } from '../kernel/errors.ts';
import type { Item, Ref } from '../ports/records.ts';
import type { StoredContent } from '../storage/content.ts';
import type { TerminalStatus } from './task.ts';
import type { ToolCall } from './tool-call.ts';

/**
 * One of the things that a batch waits for: whatever
 *  - has a line in `load-item-results.ts` and `stop-item.ts`, which say how one is shown and stopped,
 *  - is made only while the batch is open, by a check of that in the transaction that makes it, so that none is left running,
 *  - carries `joins`, and has the effect `join` when it ends, with its status.
 */
export interface BatchItem {
  kind: 'task' | 'turn';
  id: string;
}

export interface BatchItemEnd {
  status: TerminalStatus;
  error?: { code: string; message: string };
  /** The batch ended before it did. */
  isStopped?: true;
}

export const BATCH_ENDS = ['success', 'partial', 'failed', 'timeout'] as const;
export type BatchEnd = (typeof BATCH_ENDS)[number];

/** Things that were begun together, and whose ends are told as one. */
export interface Batch extends Item {
  sk: 'batch';
  project: string;
  id: string;
  from: string;
  status: 'open' | BatchEnd;
  items: BatchItem[];
  /** The parts that have not ended, by their number, and how many they are. */
  openItems: Record<string, true>;
  openCount: number;
  /** How the others ended. */
  itemEnds: Record<string, BatchItemEnd>;
  /** The first part that is not completed ends the batch. */
  failFast: boolean;
  /** When it ends in any case, in epoch milliseconds. */
  deadline: number;
  /** The requests that become its tasks; absent once all of them have. */
  pendingRequests?: StoredContent;
  /** The turns that become its parts; absent once all of them have. */
  pendingTurns?: StoredContent;
  /** How often it was tried to make them. */
  attempts?: number;
  /** Its requester is on NATS, and is told there how it ended. */
  deliveryTarget?: 'nats';
  /** Its requester's dialect, where that is logged and the requester is told how it ended. */
  requesterLogDialect?: string;
  /** The tool call that the batch is the work of. */
  call?: ToolCall;
  fingerprint: string;
  createdAt: number;
  endedAt?: number;
  traceparent: string;
  tracestate?: string;
  baggage?: string;
  /** Nobody named the trace: what is made of it keeps to its parent's. */
  isMade?: true;
}

/** For whoever would make one more part of it. */
export const batchEndedError = (id: string): ParleyError =>
  new ParleyError('batch_ended', `The batch ${id} has ended, and takes nothing more.`);

export const batchRef = (project: string, id: string): Ref<Batch> => ({ pk: `${project}#batch#${id}`, sk: 'batch' });
