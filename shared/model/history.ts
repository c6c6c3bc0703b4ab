import type { Json } from '../kernel/json/json.ts';
import { RELATED_RETENTION_MS } from '../kernel/retention.ts';
import type { Item, NewItem, Ref } from '../ports/records.ts';
import { type AnsweredQuestion, hasReported, isAssigned, type Progress, type Task, type TaskError } from './task.ts';

/**
 * State that a later write to the task overwrites: an attempt that did not end it, a progress report, a question, an end
 * that was undone. The record itself has the rest, so a usual task cycle needs no entry.
 */
export interface HistoryEntry extends Item {
  sk: `history#${number}`;
  version: number;
  /** Another task may later have its id. */
  taskCreatedAt: number;
  /** Any other value is an event of the timeline, by `agent`, at the time of the entry. */
  kind: 'attempt' | 'progress' | 'end' | 'question' | 'answer' | (string & {});
  agent?: string;
  attempt: number;
  /** The entry itself is written later. */
  changedAt: number;
  claimedAt?: number;
  endedAt?: number;
  status?: Task['status'];
  error?: TaskError;
  progress?: Progress;
  message?: string;
  /** If nobody answered it. */
  question?: OpenQuestion;
  lastAnswer?: AnsweredQuestion;
  answer?: Json;
  /** The agent that retried it. */
  by?: string;
}

type OpenQuestion = Pick<AnsweredQuestion, 'askedAt' | 'agent' | 'attempt' | 'question'>;

/** A ring: a new entry overwrites the one that many versions before it. */
export const MAX_HISTORY_ENTRIES = 64;
/** A plain task cycle has no entries. */
export const hasHistory = (task: Task): boolean =>
  task.attempt > 1 ||
  task.queueGeneration > 1 ||
  task.processedMessages !== undefined ||
  task.dependencyIds !== undefined;

export const buildHistoryEntries = (before: Task | undefined, after: Task): NewItem<HistoryEntry>[] => {
  const forgotten = before && pickOverwritten(before, after);
  if (!forgotten) return [];
  return [
    {
      pk: after.pk,
      sk: `history#${after.v % MAX_HISTORY_ENTRIES}`,
      version: after.v,
      taskCreatedAt: after.createdAt,
      attempt: after.attempt,
      changedAt: after.at,
      expires: after.at + RELATED_RETENTION_MS,
      ...forgotten,
    },
  ];
};

const pickOverwritten = (
  before: Task,
  after: Task,
): (Partial<HistoryEntry> & Pick<HistoryEntry, 'kind'>) | undefined => {
  if (before.endedAt !== undefined && after.endedAt === undefined) {
    const { endedAt, status, error } = before;
    return {
      ...pickHolder(before),
      agent: getEndActor(before),
      kind: 'end',
      endedAt,
      status,
      error,
      by: after.retriedBy,
      message: after.retryReason,
    };
  }
  const isAnswered = before.answerCount !== after.answerCount;
  const { lastAnswer, answer } = isAnswered ? before : {};
  const overwrittenAnswer = lastAnswer && { lastAnswer, answer: omitIfLarge(answer) };
  if (overwrittenAnswer && after.status !== 'requested') return { kind: 'answer', ...overwrittenAnswer };
  const question = before.status === 'input_required' && !isAnswered ? toQuestion(before) : undefined;
  if (after.status === 'in_progress' && after.progress && hasReported(before, after)) {
    return { ...pickHolder(after), kind: 'progress', progress: after.progress, question };
  }
  if (after.status === 'requested' && (isAssigned(before) || after.attempt > before.attempt)) {
    const error = isReleased(before, after) ? undefined : after.error;
    const { claimedAt, attempt } = before;
    const whose = { claimedAt, agent: before.holder ?? after.error?.agent };
    return {
      ...whose,
      attempt: Math.max(attempt, after.attempt),
      kind: 'attempt',
      endedAt: after.at,
      error,
      question,
      ...overwrittenAnswer,
    };
  }
  const isOver = after.endedAt !== undefined || after.askedAt !== before.askedAt;
  return question && isOver ? { kind: 'question', question } : undefined;
};

/** A released task has the error of an earlier attempt. A declined one has a longer `declinedBy`. */
const isReleased = (before: Task, after: Task): boolean =>
  (after.uncountedAttempts ?? 0) > (before.uncountedAttempts ?? 0) &&
  after.declinedBy?.length === before.declinedBy?.length;

export const toQuestion = ({ askedAt = 0, holder, attempt, prompt }: Task): OpenQuestion => ({
  askedAt,
  agent: holder,
  attempt,
  question: typeof prompt?.prompt === 'string' ? prompt.prompt : undefined,
});

const MAX_TIMELINE_ANSWER_CHARACTERS = 2000;
const omitIfLarge = (answer: Json | undefined): Json | undefined =>
  answer === undefined || JSON.stringify(answer).length > MAX_TIMELINE_ANSWER_CHARACTERS ? undefined : answer;

const pickHolder = (task: Task): { agent?: string; claimedAt?: number } => ({
  agent: task.holder,
  claimedAt: task.claimedAt,
});

export const historyRef = (entry: NewItem<HistoryEntry>): Ref<HistoryEntry> => ({ pk: entry.pk, sk: entry.sk });

export interface TimelineEntry {
  at: number;
  event: string;
  agent?: string;
  attempt?: number;
  percent?: number;
  message?: string;
  answer?: Json;
  error?: { code: string; message: string };
}

/** Oldest first, from the entries and the record. */
export const buildTimeline = (task: Task, entries: HistoryEntry[]): TimelineEntry[] => {
  const lines: TimelineEntry[] = [{ at: task.createdAt, event: 'requested', agent: task.from }];
  for (const entry of entries.toSorted((a, b) => a.version - b.version)) lines.push(...toTimelineEntries(entry));
  // The entry of the newest report may not be written yet.
  const isTold = entries.some(({ progress }) => progress?.at === task.progress?.at);
  const { holder, at, attempt, claimedAt, endedAt, status, error, lastAnswer, answer } = task;
  if (task.progress && !isTold) lines.push(toProgressEntry({ agent: holder, at, attempt, progress: task.progress }));
  if (lastAnswer) lines.push(...toAnswerEntries(lastAnswer, omitIfLarge(answer)));
  if (status === 'input_required') lines.push(toQuestionEntry(toQuestion(task)));
  lines.push(...toAttemptEntries({ agent: holder, attempt, claimedAt }));
  if (endedAt !== undefined) {
    const end = toEndEntry({ at, kind: 'end', agent: getEndActor(task), endedAt, status, error, attempt });
    lines.push({ ...end, message: status === 'cancelled' ? task.cancelReason : undefined });
  }
  return lines.toSorted(
    (a, b) => a.at - b.at || (a.attempt ?? 0) - (b.attempt ?? 0) || computeEventRank(a) - computeEventRank(b),
  );
};

const toTimelineEntries = (entry: HistoryEntry): TimelineEntry[] => {
  const { changedAt: at, agent, attempt, message, question, lastAnswer, error } = entry;
  switch (entry.kind) {
    case 'progress':
      return [...(question ? [toQuestionEntry(question)] : []), toProgressEntry(entry)];
    case 'question':
      return question ? [toQuestionEntry(question)] : [];
    case 'answer':
      return lastAnswer ? toAnswerEntries(lastAnswer, entry.answer) : [];
    case 'attempt':
      return [
        ...toAttemptEntries(entry),
        ...(lastAnswer ? toAnswerEntries(lastAnswer, entry.answer) : []),
        ...(question ? [toQuestionEntry(question)] : []),
        toEndEntry(entry),
      ];
    case 'end':
      return [
        ...toAttemptEntries(entry),
        toEndEntry(entry),
        { at, event: 'requested', attempt, agent: entry.by, message },
      ];
    default:
      return [{ at, event: entry.kind, attempt, agent, message, error: toPublicTaskError(error) }];
  }
};

const toQuestionEntry = ({ askedAt, agent, attempt, question }: OpenQuestion): TimelineEntry => ({
  at: askedAt,
  event: 'input_required',
  attempt,
  agent,
  message: question,
});

const toAnswerEntries = (answered: AnsweredQuestion, answer: Json | undefined): TimelineEntry[] => [
  toQuestionEntry(answered),
  { at: answered.at, event: 'input_given', attempt: answered.attempt, agent: answered.by, answer },
];

/** Undefined if it expired. */
const getEndActor = ({ status, holder, cancelledBy }: Task): string | undefined =>
  status === 'cancelled' ? cancelledBy : holder;

/** The order of events within a millisecond of one attempt. */
const EVENT_ORDER = ['claimed', 'progress', 'input_required', 'input_given'];
const computeEventRank = ({ event, attempt }: TimelineEntry): number => {
  if (event === 'requested') return attempt === undefined ? -1 : EVENT_ORDER.length + 1;
  return EVENT_ORDER.includes(event) ? EVENT_ORDER.indexOf(event) : EVENT_ORDER.length;
};

const toAttemptEntries = (of: { agent?: string; claimedAt?: number; attempt: number }): TimelineEntry[] =>
  of.claimedAt === undefined ? [] : [{ at: of.claimedAt, event: 'claimed', attempt: of.attempt, agent: of.agent }];

const toEndEntry = (
  of: Pick<HistoryEntry, 'at' | 'kind' | 'agent' | 'endedAt' | 'status' | 'error' | 'attempt'>,
): TimelineEntry => ({
  at: of.endedAt ?? of.at,
  event: of.kind === 'end' ? (of.status ?? 'ended') : 'released',
  attempt: of.attempt,
  agent: of.agent,
  error: toPublicTaskError(of.error),
});

const toPublicTaskError = (error: TaskError | undefined): TimelineEntry['error'] =>
  error && { code: error.code, message: error.message };

const toProgressEntry = ({
  at,
  agent,
  attempt,
  progress,
}: Pick<HistoryEntry, 'at' | 'agent' | 'attempt' | 'progress'>): TimelineEntry => ({
  at: progress?.at ?? at,
  event: 'progress',
  attempt,
  agent,
  percent: progress?.percent,
  message: progress?.message,
});
