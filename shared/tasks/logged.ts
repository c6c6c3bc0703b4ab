import { dialectNamed } from '../dialects/dialects.ts';
import { encoderOf } from '../dialects/encoders.ts';
import { canonicalId } from '../ids.ts';
import { type Delivery, type Outcome, outcomeOf } from '../inbox/delivery.ts';
import type { JsonObject } from '../json/json.ts';
import type { Fresh } from '../ports/records.ts';
import type { Edge } from './effects.ts';
import type { Task } from './task.ts';

/**
 * What an event says for the log of messages: the message that took the task this step, where its sender's dialect is logged, and
 * otherwise what was heard of the step, where the dialect of the requester or the holder is.
 */
export const loggedIn = (type: Edge, task: Task, deliveries: Fresh<Delivery>[]): JsonObject => {
  const waitedMs = task.at - task.createdAt;
  const message = messageOf(type, task);
  const isTold = message !== undefined && type !== 'task.expired';
  const heard = isTold || !isLoggedFor(task, true) ? [] : heardOf(type, task, deliveries);
  return {
    logged: message && { ...message, waitedMs },
    delivered: heard.length > 0 ? heard.map((one) => ({ ...one, waitedMs })) : undefined,
  };
};

/** Whether what is said to the requester is logged, and what is said to the holder. */
const isLoggedFor = ({ told, heardIn, answeredIn }: Task, isRequester: boolean): boolean =>
  told !== undefined || heardIn !== undefined || (isRequester && answeredIn !== undefined);

const messageOf = (type: Edge, task: Task): JsonObject | undefined => {
  switch (type) {
    case 'task.requested':
      return task.v === 1 ? task.told : undefined;
    case 'task.claimed':
    case 'task.expired':
      return task.told;
    case 'task.progress':
      return task.progress?.told;
    case 'task.completed':
    case 'task.failed':
      return outcomeTold(task, task.endedBy?.id);
    case 'task.retrying':
    case 'task.input_required':
      return outcomeTold(task, task.seen?.at(-1)?.id);
    default:
      return undefined;
  }
};

/** An earlier attempt may have ended with a message that was logged, and this one without. */
const outcomeTold = ({ outcomeTold: told }: Task, id: string | undefined): JsonObject | undefined =>
  id !== undefined && canonicalId(String(told?.id)) === id ? told : undefined;

/** What reached somebody: by a claim, as progress to be read in the task, or in an inbox. */
const heardOf = (type: Edge, task: Task, deliveries: Fresh<Delivery>[]): JsonObject[] => {
  const { id, from, holder, seen, dialect, heardIn = dialect, answeredIn = dialect } = task;
  if (type === 'task.claimed') {
    if (!isLoggedFor(task, false)) return [];
    const { type: called = 'request' } = encoderOf(dialectNamed(heardIn)).encodeRequest(task, null);
    return [{ id, from, to: holder, type: called }];
  }
  if (type === 'task.progress') {
    const { type: called = 'progress' } = encoderOf(dialectNamed(answeredIn)).encodeReport(task);
    return [{ id: seen?.at(-1)?.id, from: holder, to: from, type: called }];
  }
  // What ended it reaches the requester in any case, also where that is told with a batch.
  const outcomes = task.endedBy ? [outcomeOf(task, from)] : deliveries.flatMap(({ outcome }) => outcome ?? []);
  return outcomes
    .filter(({ to }) => isLoggedFor(task, to === from))
    .map((outcome) => outcomeHeard(outcome, outcome.to === from ? answeredIn : heardIn));
};

const outcomeHeard = (outcome: Outcome, dialect: string): JsonObject => {
  const { id, from, to, status } = outcome;
  const { type = status } = encoderOf(dialectNamed(dialect)).encodeOutcome(outcome, undefined, undefined);
  return { id, from, to, type };
};
