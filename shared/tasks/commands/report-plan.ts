import type { ParleyError } from '../../kernel/errors.ts';
import type { TaskReport } from '../../model/command.ts';
import type { ProcessedMessage, Task } from '../../model/task.ts';
import { type Change, notEquals, notExists } from '../../ports/conditions.ts';
import type { StoredOutput } from '../artifacts.ts';
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

/** What a report needs that is not in the task itself. */
interface ReportInputs {
  stored?: StoredOutput;
  /** Who can do what its holder says it cannot. */
  alternatives?: AlternativeHolders;
}

export interface ReportPlan {
  /** What is tried without a look at the task, where that can be said beforehand. */
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
      // Only where the id cannot be that of an earlier message about the task, which may have brought artifacts.
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

/** Whoever asked for the task may say that nobody is to do it, and nothing else about it. */
export const isUnheldByRequester = ({ from, holder }: Task, agent: string): boolean =>
  from === agent && holder !== agent;

/** It says late that it took what it has completed since. */
const isCompletedByAgent = ({ status, holder }: Task, agent: string): boolean =>
  status === 'completed' && holder === agent;
