import type { NewItem } from '../ports/records.ts';
import type { ToolReport, TurnEnd, TurnStep } from './agent-state.ts';
import type { Batch } from './batch.ts';
import type { CorrelationRecord } from './correlation.ts';
import type { Task } from './task.ts';
import type { ToolCall } from './tool-call.ts';
import type { Turn } from './turn.ts';
import type { TurnEventContext } from './turn-event.ts';

/** Effects of an agent state or a turn that need several reads or writes. All are idempotent. */
export type TurnEffect =
  /** Copies the lease into the turn's record. */
  | { kind: 'recordLease'; project: string; turn: string; agent: string; epoch: number; at: number }
  /** Ends the turn's record, always with a deliverable. */
  | { kind: 'endTurn'; project: string; turn: string; agent: string; steps: number; end: TurnEnd }
  | { kind: 'putStep'; project: string; turn: string; number: number; step: TurnStep }
  | { kind: 'sendWakeup'; wakeup: Wakeup }
  /** Sends a wake-up to an idle agent, if a turn waits. */
  | { kind: 'wakeIfQueued'; project: string; agent: string; cause: string; at: number }
  | { kind: 'putCorrelation'; edge: NewItem<CorrelationRecord> }
  /** After a report, or when nobody waits for the call. */
  | {
      kind: 'completeToolCallTask';
      project: string;
      turn: string;
      toolCall: string;
      report: Pick<ToolReport, 'status' | 'card'>;
    }
  | { kind: 'cancelToolCall'; project: string; turn: string; toolCall: string }
  | { kind: 'reportTaskResult'; task: Task; call: ToolCall }
  | { kind: 'reportBatchResult'; batch: Batch; call: ToolCall }
  /** If the agent has another dialect. */
  | { kind: 'createTaskForTurn'; turn: Turn }
  | { kind: 'completeFromTask'; task: Task; turn: string }
  | { kind: 'cancelTurnTask'; project: string; turn: string }
  | { kind: 'completeTask'; turn: Turn; end: TurnEnd }
  /** The task ended by itself, or has another holder. */
  | { kind: 'stopTurn'; project: string; turn: string }
  /** A step of a turn renews the lease of its task, and is its progress. */
  | { kind: 'renewTask'; project: string; task: string; agent: string; step?: RecordedStep }
  | { kind: 'completeUiAction'; project: string; action: string; end: TurnEnd }
  | { kind: 'reportTurnResult'; turn: Turn; call: ToolCall; end: TurnEnd };

export interface RecordedStep extends TurnStep {
  turn: string;
  number: number;
}

/** A hint without authority. */
export interface Wakeup {
  cause: string;
  at: number;
  /** An agent, or a group of which one idle agent is woken. */
  target: string;
  isForGroup?: true;
  inboxId?: string;
  reason: string;
  /** The target under which NATS has already published it. */
  publishedTarget?: string;
  context: TurnEventContext;
}
