import { idFrom } from '../ids.ts';
import type { Json, JsonObject } from '../json/json.ts';
import type { Fresh, Item } from '../ports/records.ts';
import type { KeptArtifacts } from '../tasks/artifacts.ts';
import { type Content, isInHand, type Status, sortable, type Task, type TaskError } from '../tasks/task.ts';

/** What the sender is called where Parley itself speaks. */
export const PARLEY = 'parley';

/** How a task ended, told to somebody who must know; or that it waits for input, or has been given it. */
export interface Outcome {
  /** The id of the message that ended the task, or one made for a message from Parley itself. */
  id: string;
  from: string;
  to: string;
  happenedAt: number;
  status: Status;
  task: Pick<
    Task,
    | 'project'
    | 'id'
    | 'from'
    | 'fromInstance'
    | 'capability'
    | 'domain'
    | 'priority'
    | 'ttlSeconds'
    | 'traceparent'
    | 'carried'
    | 'holder'
    | 'holderInstance'
    | 'claimedAt'
    | 'attempt'
  >;
  output?: Content;
  artifacts?: KeptArtifacts;
  confidence?: number;
  error?: TaskError;
  carried: JsonObject;
  /** What the holder asked, and what it was answered. */
  prompt?: JsonObject;
  answer?: Json;
}

/**
 * An outcome in the inbox of an agent, written in the dialect of whoever reads it. A completed task needs none: it stands in its
 * requester's inbox itself.
 */
export interface Delivery extends Item {
  sk: `delivery#${string}`;
  project: string;
  /** The task and the version that it tells of: the same one again is the same delivery. */
  source: string;
  /** Absent once it is acknowledged: what remains keeps a repeated change from bringing it back. */
  outcome?: Outcome;
}

export const inboxPk = (project: string, agent: string): string => `${project}#inbox#${agent}`;
/** What an inbox holds stands in the order of time, then of its sender's count, then of the id by which it is acknowledged. */
export const inboxOrder = (at: number, id: string, sequence?: number): string =>
  sequence === undefined ? `${sortable(at)}#${id}` : `${sortable(at)}.${String(sequence).padStart(16, '0')}#${id}`;
export const messageIdIn = (order: string): string => order.slice(order.indexOf('#') + 1);

/** The requester learns how its task ended otherwise than well, and the holder that it was cancelled; not who did it himself. */
export const deliveriesOf = (before: Task | undefined, after: Task): Fresh<Delivery>[] => {
  if (!before || before.endedAt !== undefined) return [];
  if (after.endedAt === undefined) return dialogueOf(before, after);
  if (after.status === 'completed') return [];
  // How a part of a batch ended is told with the batch.
  const interested = new Set(after.joins ? [] : [after.from]);
  if (after.status === 'cancelled' && before.holder !== undefined && isInHand(before)) interested.add(before.holder);
  interested.delete(after.cancelledBy ?? '');
  return [...interested].map((agent) => delivery(after, outcomeOf(after, agent)));
};

/** The requester finds the question, and the holder the answer. */
const dialogueOf = (before: Task, after: Task): Fresh<Delivery>[] => {
  if (before.status !== 'input_required' && after.status === 'input_required')
    return [delivery(after, questionOf(after))];
  if (before.status === 'input_required' && after.status === 'claimed')
    return [delivery(after, answerOf(before, after))];
  return [];
};

export const questionOf = (task: Task): Outcome => ({
  ...outcomeOf(task, task.from),
  id: task.seen?.at(-1)?.id ?? idFrom(sourceOf(task)),
  from: task.holder ?? PARLEY,
  error: undefined,
  carried: {},
  prompt: task.prompt,
});

const answerOf = (before: Task, after: Task): Outcome => ({
  ...outcomeOf(after, after.holder ?? after.from),
  from: after.from,
  error: undefined,
  carried: {},
  prompt: before.prompt,
  answer: after.answer,
});

export const outcomeOf = (task: Task, to: string): Outcome => {
  const { id, from, fromInstance, capability, domain, priority, ttlSeconds, traceparent, carried } = task;
  const { project, holder, holderInstance, claimedAt, attempt } = task;
  const about = { id, from, fromInstance, capability, domain, priority, ttlSeconds, traceparent, carried };
  return {
    id: task.endedBy?.id ?? idFrom(sourceOf(task)),
    from: (task.endedBy && task.holder) ?? PARLEY,
    to,
    happenedAt: task.endedAt ?? task.at,
    status: task.status,
    task: { ...about, project, holder, holderInstance, claimedAt, attempt },
    output: task.output,
    artifacts: task.artifacts,
    confidence: task.confidence,
    error: task.error,
    carried: task.outcomeCarried ?? {},
  };
};

const sourceOf = (task: Task): string => `${task.id}#${task.v}`;

const delivery = (task: Task, outcome: Outcome): Fresh<Delivery> => ({
  ...inInbox(task.project, outcome),
  project: task.project,
  source: sourceOf(task),
  expires: task.expires ?? task.at + KEPT_MS,
});

/** For what is told of a task that is still open. */
const KEPT_MS = 7 * 86_400_000;

const inInbox = (project: string, outcome: Outcome) => {
  const pk = inboxPk(project, outcome.to);
  return {
    pk,
    sk: `delivery#${outcome.id}` as const,
    outcome,
    placed: { p: pk, s: inboxOrder(outcome.happenedAt, outcome.id) },
  };
};

/** The same delivery under an id of its own, for where its sender used the id of an earlier message once more. */
export const renamed = (original: Fresh<Delivery>): Fresh<Delivery> => ({
  ...original,
  ...(original.outcome && inInbox(original.project, { ...original.outcome, id: idFrom(original.source) })),
});
