import { SYSTEM_SENDER, uuidFromSeed } from '../kernel/ids.ts';
import type { Json, JsonObject } from '../kernel/json/json.ts';
import { DAY_MS } from '../kernel/retention.ts';
import { pickTraceFields } from '../kernel/trace.ts';
import type { Item, NewItem } from '../ports/records.ts';
import type { StoredContent } from '../storage/content.ts';
import type { StoredArtifacts } from './artifact.ts';
import {
  hasSeveralInboxEntries,
  isAssigned,
  type Task,
  type TaskError,
  type TaskStatus,
  toSortableTime,
} from './task.ts';

/** An end, a question or an answer, for one of the agents of the task. */
export interface TaskOutcome {
  /** The id of the message that ended the task; derived if Parley ended it. */
  id: string;
  from: string;
  to: string;
  happenedAt: number;
  status: TaskStatus;
  task: Pick<
    Task,
    | 'project'
    | 'id'
    | 'from'
    | 'fromInstance'
    | 'capability'
    | 'conversation'
    | 'domain'
    | 'priority'
    | 'ttlSeconds'
    | 'answerBy'
    | 'traceparent'
    | 'tracestate'
    | 'baggage'
    | 'extensions'
    | 'holder'
    | 'holderInstance'
    | 'claimedAt'
    | 'attempt'
  >;
  output?: StoredContent;
  artifacts?: StoredArtifacts;
  confidence?: number;
  error?: TaskError;
  extensions: JsonObject;
  /** The question and its answer. */
  prompt?: JsonObject;
  answer?: Json;
  /** The message that asked what this one answers. */
  questionId?: string | undefined;
}

export const formatExpiry = ({ answerBy, ttlSeconds }: Pick<Task, 'answerBy' | 'ttlSeconds'>): string =>
  answerBy === undefined ? `Nobody claimed the task within ${ttlSeconds} s.` : `No answer came within ${ttlSeconds} s.`;

/** Cancelled by the requester, or given up by the holder. */
export const isCancelled = ({ status, error }: Pick<TaskOutcome, 'status' | 'error'>): boolean =>
  status === 'cancelled' || (status === 'failed' && error?.code.toLowerCase() === 'cancelled');

/**
 * An outcome in an agent's inbox, encoded for its reader. A completed task needs none: it is itself in the index of
 * its requester's inbox.
 */
export interface Delivery extends Item {
  sk: `delivery#${string}`;
  project: string;
  /** Task id and version: a repeated effect creates the same delivery. */
  source: string;
  /** There may be other deliveries of the task for the same agent. */
  hasSiblings?: true;
  /** Absent once acknowledged: the rest stays, so that a repeated effect does not create it again. */
  outcome?: TaskOutcome;
  /** A task for the agent alone, instead of an outcome. The agent reads it while it holds it. */
  delegation?: Delegation;
}

export interface Delegation {
  taskId: string;
  from: string;
  /** Void once the task has been queued again. */
  queueGeneration: number;
  instance?: string;
}

/** Once for each queue generation of a task for one agent. */
export const buildDelegation = (
  { project, id, from, to = '', queueGeneration, requestedAs, createdAt, deadline }: Task,
  instance: string | undefined,
  retentionMs: number,
): NewItem<Delivery> => {
  const pk = inboxPk(project, to);
  return {
    pk,
    sk: `delivery#${id}#${queueGeneration}`,
    project,
    source: `${id}#${queueGeneration}`,
    hasSiblings: true,
    delegation: { taskId: id, from, queueGeneration, instance },
    byList: { pk, sk: inboxSortKey(requestedAs?.at ?? createdAt, id, requestedAs?.sequence) },
    expires: deadline + retentionMs,
  };
};

export const inboxPk = (project: string, agent: string): string => `${project}#inbox#${agent}`;
/** Sorted by time, then by the sender's sequence number, then by message id. */
export const inboxSortKey = (at: number, id: string, sequence?: number): string =>
  sequence === undefined
    ? `${toSortableTime(at)}#${id}`
    : `${toSortableTime(at)}.${String(sequence).padStart(16, '0')}#${id}`;
export const parseMessageId = (sortKey: string): string => sortKey.slice(sortKey.indexOf('#') + 1);

/** The requester gets every end but completion, the holder a cancellation; not the agent that caused it. */
export const buildDeliveries = (before: Task | undefined, after: Task): NewItem<Delivery>[] => {
  if (!before || before.endedAt !== undefined) return [];
  if (after.endedAt === undefined) return buildDialogueDeliveries(before, after);
  if (after.status === 'completed') return [];
  // The outcome of a batch contains its items.
  const interested = new Set(after.batchMembership ? [] : [after.from]);
  if (isEndedByOthers(after) && before.holder !== undefined && isAssigned(before)) interested.add(before.holder);
  interested.delete(after.cancelledBy ?? '');
  return [...interested].map((agent) => buildDelivery(after, buildOutcome(after, agent)));
};

const isEndedByOthers = ({ status }: Task): boolean => status === 'cancelled' || status === 'expired';

/** The requester gets the question, the holder the answer. */
const buildDialogueDeliveries = (before: Task, after: Task): NewItem<Delivery>[] => {
  if (after.status === 'input_required' && getQuestionId(before) !== getQuestionId(after))
    return [buildDelivery(after, buildQuestion(after))];
  if (before.status === 'input_required' && after.status === 'claimed')
    return [buildDelivery(after, buildAnswer(before, after))];
  return [];
};

/** Only another question can follow it. */
export const getQuestionId = ({ status, processedMessages }: Task): string | undefined =>
  status === 'input_required' ? processedMessages?.at(-1)?.id : undefined;

export const buildQuestion = (task: Task): TaskOutcome => ({
  ...buildOutcome(task, task.from),
  id: getQuestionId(task) ?? uuidFromSeed(['outcome', getDeliverySource(task)]),
  from: task.holder ?? SYSTEM_SENDER,
  error: undefined,
  prompt: task.prompt,
});

const buildAnswer = (before: Task, after: Task): TaskOutcome => {
  const { id, ...outcome } = buildOutcome(after, after.holder ?? after.from);
  return {
    ...outcome,
    id: after.lastAnswer?.messageId ?? id,
    from: after.from,
    error: undefined,
    questionId: getQuestionId(before),
    prompt: before.prompt,
    answer: after.answer,
  };
};

export const buildOutcome = (task: Task, to: string): TaskOutcome => {
  const { id, from, fromInstance, capability, conversation, domain, priority, ttlSeconds, answerBy, extensions } = task;
  const { project, holder, holderInstance, claimedAt, attempt } = task;
  const about = {
    id,
    from,
    fromInstance,
    capability,
    conversation,
    domain,
    priority,
    ttlSeconds,
    answerBy,
    extensions,
    ...pickTraceFields(task),
  };
  return {
    id: task.endMessage?.id ?? uuidFromSeed(['outcome', getDeliverySource(task)]),
    from: (task.endMessage && task.holder) ?? SYSTEM_SENDER,
    to,
    happenedAt: task.endedAt ?? task.at,
    status: task.status,
    task: { ...about, project, holder, holderInstance, claimedAt, attempt },
    output: task.output,
    artifacts: task.artifacts,
    confidence: task.confidence,
    error: task.error,
    extensions: task.outcomeExtensions ?? {},
  };
};

const getDeliverySource = (task: Task): string => `${task.id}#${task.v}`;

const buildDelivery = (task: Task, outcome: TaskOutcome): NewItem<Delivery> => ({
  ...buildInboxFields(task.project, outcome, task.reportedAs),
  project: task.project,
  source: getDeliverySource(task),
  hasSiblings: hasSeveralInboxEntries(task) ? true : undefined,
  expires: task.expires ?? task.at + OPEN_DELIVERY_RETENTION_MS,
});

/** Of deliveries about open tasks. */
const OPEN_DELIVERY_RETENTION_MS = 7 * DAY_MS;

/** By the sender's sequence number, if it has one. */
const buildInboxFields = (project: string, outcome: TaskOutcome, reportedAs?: Task['reportedAs']) => {
  const pk = inboxPk(project, outcome.to);
  const said = reportedAs?.id === outcome.id ? reportedAs : undefined;
  return {
    pk,
    sk: `delivery#${outcome.id}` as const,
    outcome,
    byList: { pk, sk: inboxSortKey(said?.at ?? outcome.happenedAt, outcome.id, said?.sequence) },
  };
};

/** Under a derived id, if the sender reused the id of an earlier message. */
export const withDerivedId = (original: NewItem<Delivery>): NewItem<Delivery> => ({
  ...original,
  ...(original.outcome &&
    buildInboxFields(original.project, { ...original.outcome, id: uuidFromSeed(['outcome', original.source]) })),
});
