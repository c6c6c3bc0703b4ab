import type { ParleyError } from '../../kernel/errors.ts';
import type { TaskReport } from '../../model/command.ts';
import type { ProcessedMessage, Task } from '../../model/task.ts';
import { type Change, notEquals, notExists } from '../../ports/conditions.ts';
import type { StoredOutput } from '../output-contents.ts';
import { buildCancelTransition } from '../transitions/end-and-requeue.ts';
import {
  type Actor,
  buildCompleteTransition,
  cancelAsHolder,
  claimByMessage,
  claimThen,
  failAsHolder,
  type HolderMessage,
  recordClaimNote,
  recordProgress,
  requestInput,
} from '../transitions/holder-transitions.ts';
import {
  type AlternativeHolders,
  buildHolderReleaseChange,
  buildReassignChange,
} from '../transitions/reassign-task.ts';
import { applyTo, toConditionalUpdate } from '../transitions/rules.ts';

interface ReportInputs {
  stored?: StoredOutput;
  /** If the holder declines. */
  alternatives?: AlternativeHolders;
}

export interface ReportPlan {
  /** A blind write, where possible. */
  optimisticChange?: Change;
  resolve: (task: Task) => Change | ParleyError | 'unchanged';
}

export const planReport = (message: TaskReport, by: Actor, { stored, alternatives }: ReportInputs = {}): ReportPlan => {
  const seen: ProcessedMessage = { id: message.messageId, fingerprint: message.fingerprint };
  const { isIdentifiedByContent, attempt, sequenceInfo } = message;
  const holderMessage: HolderMessage = {
    processedMessage: seen,
    isIdentifiedByContent,
    attempt,
    auditEntry: message.auditEntry,
    sequenceInfo,
  };
  switch (message.kind) {
    case 'claim':
      return {
        resolve: (task) => {
          if (task.holder !== by.agent || task.endedAt !== undefined) {
            return isCompletedByAgent(task, by.agent) ? 'unchanged' : claimByMessage(task, by, holderMessage, message);
          }
          return task.claimNote === undefined ? recordClaimNote(task, by, holderMessage, message) : 'unchanged';
        },
      };
    case 'progress':
      return {
        resolve: (task) =>
          recordProgress(task, by, holderMessage, { ...message.progress, auditEntry: message.auditEntry, at: by.now }),
      };
    case 'complete': {
      const completed = buildCompleteTransition(
        by,
        holderMessage,
        stored?.output ?? { json: message.output },
        message.extensions,
        { confidence: message.confidence },
      );
      // Only if an earlier message with this id is impossible: it could have had artifacts.
      const optimisticChange = toConditionalUpdate(
        completed,
        notExists('processedMessages'),
        notEquals('claimMessage.id', message.messageId),
        ...(stored?.artifacts ? [notExists('artifacts')] : []),
      );
      return { optimisticChange, resolve: (task) => claimThen(task, by, () => completed) };
    }
    case 'fail':
      return {
        resolve: (task) => {
          if (message.release) return buildHolderReleaseChange(task, by, holderMessage);
          return alternatives
            ? buildReassignChange(task, by, holderMessage, message.error, alternatives)
            : failAsHolder(task, by, holderMessage, message.error, message.extensions);
        },
      };
    case 'cancel':
      return {
        resolve: (task) =>
          isUnheldByRequester(task, by.agent)
            ? applyTo(task, buildCancelTransition(by.agent, by))
            : cancelAsHolder(task, by, holderMessage, message.error, message.extensions),
      };
    case 'ask':
      return { resolve: (task) => requestInput(task, by, holderMessage, message) };
  }
};

/** A requester may cancel a task that nobody holds, and report nothing else. */
export const isUnheldByRequester = ({ from, holder }: Task, agent: string): boolean =>
  from === agent && holder !== agent;

/** A late claim of a task that the agent has completed since. */
const isCompletedByAgent = ({ status, holder }: Task, agent: string): boolean =>
  status === 'completed' && holder === agent;
