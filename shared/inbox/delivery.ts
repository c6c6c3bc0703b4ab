import { idFrom } from '../ids.ts';
import type { JsonObject } from '../json/json.ts';
import type { Fresh, Item } from '../ports/records.ts';
import { type Content, isHeld, type Status, sortable, type Task, type TaskError } from '../tasks/task.ts';

/** What the sender is called where Parley itself speaks. */
export const PARLEY = 'parley';

/** How a task ended, told to somebody who must know. */
export interface Outcome {
  /** The id of the message that ended the task, or one made for a message from Parley itself. */
  id: string;
  from: string;
  to: string;
  happenedAt: number;
  status: Status;
  task: Pick<Task, 'id' | 'from' | 'capability' | 'domain' | 'priority' | 'ttlSeconds' | 'traceparent' | 'carried'>;
  output?: Content;
  error?: TaskError;
  carried: JsonObject;
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
/** What an inbox holds stands in the order of time, then of the id by which it is acknowledged. */
export const inboxOrder = (at: number, id: string): string => `${sortable(at)}#${id}`;
export const messageIdIn = (order: string): string => order.slice(order.indexOf('#') + 1);

/** The requester learns how its task ended otherwise than well, and the holder that it was cancelled; not who did it himself. */
export const deliveriesOf = (before: Task | undefined, after: Task): Fresh<Delivery>[] => {
  if (!before || before.endedAt !== undefined || after.endedAt === undefined) return [];
  if (after.status === 'completed') return [];
  const interested = new Set([after.from]);
  if (
    after.status === 'cancelled' &&
    before.holder !== undefined &&
    (isHeld(before) || before.status === 'input_required')
  ) {
    interested.add(before.holder);
  }
  interested.delete(after.cancelledBy ?? '');
  return [...interested].map((agent) => delivery(after, outcomeOf(after, agent)));
};

export const outcomeOf = (task: Task, to: string): Outcome => {
  const { id, from, capability, domain, priority, ttlSeconds, traceparent, carried } = task;
  return {
    id: task.endedBy?.id ?? idFrom(sourceOf(task)),
    from: (task.endedBy && task.holder) ?? PARLEY,
    to,
    happenedAt: task.endedAt ?? task.at,
    status: task.status,
    task: { id, from, capability, domain, priority, ttlSeconds, traceparent, carried },
    output: task.output,
    error: task.error,
    carried: task.outcomeCarried ?? {},
  };
};

const sourceOf = (task: Task): string => `${task.id}#${task.v}`;

const delivery = (task: Task, outcome: Outcome): Fresh<Delivery> => ({
  ...inInbox(task.project, outcome),
  project: task.project,
  source: sourceOf(task),
  expires: task.expires,
});

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
