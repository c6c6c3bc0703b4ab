import { ParleyError } from '../kernel/errors.ts';
import type { Item, Ref } from '../ports/records.ts';
import type { StoredContent } from '../storage/content.ts';
import type { TerminalStatus } from './task.ts';
import type { ToolCall } from './tool-call.ts';

/**
 * A task or a turn that a batch waits for. It is created only while the batch is open, checked in the same transaction, so
 * that none is left running. It has `batchMembership`, and its end has the effect `recordBatchItemEnd`.
 */
export interface BatchItem {
  kind: 'task' | 'turn';
  id: string;
}

export interface BatchItemEnd {
  status: TerminalStatus;
  error?: { code: string; message: string };
  /** The batch ended first. */
  isStopped?: true;
}

export const BATCH_ENDS = ['success', 'partial', 'failed', 'timeout', 'cancelled'] as const;
export type BatchEnd = (typeof BATCH_ENDS)[number];

/** Items that were requested together and have one outcome. */
export interface Batch extends Item {
  sk: 'batch';
  project: string;
  id: string;
  from: string;
  status: 'open' | BatchEnd;
  items: BatchItem[];
  /** Open items by their index, and their number. */
  openItems: Record<string, true>;
  openCount: number;
  /** The ends of the others. */
  itemEnds: Record<string, BatchItemEnd>;
  /** The first item that is not completed ends the batch. */
  failFast: boolean;
  /** Epoch milliseconds. */
  deadline: number;
  /** The requests that become items; absent once all of them exist. */
  pendingRequests?: StoredContent;
  /** The turns that become items; absent once all of them exist. */
  pendingTurns?: StoredContent;
  /** Attempts to create them. */
  attempts?: number;
  /** Set if the requester is on NATS. */
  deliveryTarget?: 'nats';
  /** The requester's dialect, if it is audited. */
  requesterLogDialect?: string;
  /** The tool call that the batch executes. */
  call?: ToolCall;
  fingerprint: string;
  createdAt: number;
  endedAt?: number;
  cancelledBy?: string;
  cancelReason?: string;
  traceparent: string;
  tracestate?: string;
  baggage?: string;
}

export const batchEndedError = (id: string): ParleyError =>
  new ParleyError('batch_ended', `The batch ${id} has ended, and takes nothing more.`);

export const batchRef = (project: string, id: string): Ref<Batch> => ({ pk: `${project}#batch#${id}`, sk: 'batch' });
