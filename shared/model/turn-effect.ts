import type { NewItem } from '../ports/records.ts';
import type { ToolReport, TurnEnd, TurnStep } from './agent-state.ts';
import type { Batch } from './batch.ts';
import type { CorrelationRecord } from './correlation.ts';
import type { Task } from './task.ts';
import type { ToolCall } from './tool-call.ts';
import type { Turn } from './turn.ts';
import type { TurnEventContext } from './turn-event.ts';

/** What follows from a change of a head or a turn and takes more than one look or write. Each is safe to be carried out twice. */
export type TurnEffect =
  /** The turn's own record learns that an agent has it. */
  | { kind: 'recordLease'; project: string; turn: string; agent: string; epoch: number; at: number }
  /** The turn's own record ends, with a deliverable in any case. */
  | { kind: 'endTurn'; project: string; turn: string; agent: string; steps: number; end: TurnEnd }
  | { kind: 'putStep'; project: string; turn: string; number: number; step: TurnStep }
  | { kind: 'sendWakeup'; wakeup: Wakeup }
  /** The agent is free: it is told if something waits for it. */
  | { kind: 'wakeIfQueued'; project: string; agent: string; cause: string; at: number }
  | { kind: 'putCorrelation'; edge: NewItem<CorrelationRecord> }
  /** A tool has reported, or nobody waits for it any more. */
  | {
      kind: 'completeToolCallTask';
      project: string;
      turn: string;
      toolCall: string;
      report: Pick<ToolReport, 'status' | 'card'>;
    }
  | { kind: 'cancelToolCall'; project: string; turn: string; toolCall: string }
  /** A task that did the work of a call has ended. */
  | { kind: 'reportTaskResult'; task: Task; call: ToolCall }
  /** A batch that did the work of a call has ended. */
  | { kind: 'reportBatchResult'; batch: Batch; call: ToolCall }
  /** The turn's agent speaks another protocol and gets a task; and that task has ended. */
  | { kind: 'createTaskForTurn'; turn: Turn }
  | { kind: 'completeFromTask'; task: Task; turn: string }
  | { kind: 'cancelTurnTask'; project: string; turn: string }
  /** The task that the turn worked on ends as the turn did. */
  | { kind: 'completeTask'; turn: Turn; end: TurnEnd }
  /** The task that the turn works on has ended without it, or is another's. */
  | { kind: 'stopTurn'; project: string; turn: string }
  /** What the turn does is a sign of life of the task that it works on, and a step its progress. */
  | { kind: 'renewTask'; project: string; task: string; agent: string; step?: RecordedStep }
  | { kind: 'completeUiAction'; project: string; action: string; end: TurnEnd }
  /** The call that the turn was the work of is answered. */
  | { kind: 'reportTurnResult'; turn: Turn; call: ToolCall; end: TurnEnd };

export interface RecordedStep extends TurnStep {
  turn: string;
  number: number;
}

/** A hint that there is something to do; nothing in it is believed. */
export interface Wakeup {
  cause: string;
  at: number;
  /** An agent, or a group of which one idle agent is woken. */
  target: string;
  isForGroup?: true;
  inboxId?: string;
  reason: string;
  /** The target of the subject on which NATS has carried it already. */
  publishedTarget?: string;
  context: TurnEventContext;
}
