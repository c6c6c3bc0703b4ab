import { SYSTEM_SENDER, uuidFromSeed } from '../kernel/ids.ts';
import { hasReported, isHeld, type ReportedTask, type SentOrder, type Task } from './task.ts';

/** What a requester that does not read ends only is told of a task that goes on. */
export interface InboxReport {
  /** Of the holder's own message where that is known by it, or else made of the step: the same again is the same report. */
  id: string;
  from: string;
  to: string;
  /** The instance of the requester that asked. */
  toInstance?: string;
  /** In the order of the holder's messages, or else of the steps of the task. */
  sentAs: SentOrder;
  task: ReportedTask;
}

/** What the write tells: that the task was claimed, how far it is, or that an attempt failed which is not the last one. */
export const buildInboxReport = (before: Task | undefined, after: Task): InboxReport | undefined => {
  if (!before || !after.reportsToInbox || before.endedAt !== undefined || after.endedAt !== undefined) return undefined;
  const isFailure = isFailedAttempt(before, after);
  const isProgress = after.status === 'in_progress' && hasReported(before, after);
  const isClaim = isHeld(after) && after.attempt > before.attempt;
  const isTold = after.reportsToInbox === 'progress' ? isProgress : isFailure || isProgress || isClaim;
  if (!isTold) return undefined;
  const { reportedAs } = after;
  const said = isFailure || isProgress ? getLastMessageId(after) : undefined;
  // What has no id of its own is known by the step.
  const id = said ?? uuidFromSeed(['report', after.id, after.v]);
  return {
    id,
    from: (isFailure ? after.error?.agent : after.holder) ?? SYSTEM_SENDER,
    to: after.from,
    toInstance: after.fromInstance,
    sentAs:
      reportedAs !== undefined && reportedAs.id === said
        ? { at: reportedAs.at, sequence: reportedAs.sequence }
        : { at: after.at, sequence: after.v },
    task: toReportedTask(after, { reportId: id, failedAttempt: isFailure ? after.error : undefined }),
  };
};

/** By which its sender knows what the holder said last; absent where that is known by its content. */
export const getLastMessageId = ({ processedMessages }: Task): string | undefined => {
  const said = processedMessages?.at(-1);
  return said?.round === undefined ? said?.id : undefined;
};

/** Its holder said that it failed, and it is tried again, by the same agent or by another. */
const isFailedAttempt = (before: Task, after: Task): boolean => {
  if (after.status !== 'requested' || !hasReported(before, after)) return false;
  const isDelayed = after.notBefore !== undefined && after.notBefore !== before.notBefore;
  return isDelayed || (after.declinedBy?.length ?? 0) > (before.declinedBy?.length ?? 0);
};

export const toReportedTask = (
  task: Task,
  more: Pick<ReportedTask, 'reportId' | 'failedAttempt'> = {},
): ReportedTask => {
  const { project, id, v, at, status, priority, domain, from, attempt, ttlSeconds, traceparent, tracestate, baggage } =
    task;
  const { holder, claimedAt, claimNote, progress, extensions, conversation } = task;
  const about = { conversation, project, id, v, at, status, priority, domain, from, attempt, ttlSeconds };
  return { ...about, traceparent, tracestate, baggage, holder, claimedAt, claimNote, progress, extensions, ...more };
};
