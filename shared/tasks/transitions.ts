import type { Rest } from '../agents/orders.ts';
import type { ParleyError } from '../errors.ts';
import { inboxOrder } from '../inbox/delivery.ts';
import type { Json, JsonObject } from '../json/json.ts';
import type { Sending } from '../messages/command.ts';
import { type Change, inOrder } from '../ports/conditions.ts';
import type { KeptArtifacts } from './artifacts.ts';
import { backTo } from './chain.ts';
import { afterFailure, endedAs, type When } from './ends.ts';
import {
  atWork,
  currentEntry,
  dueAt,
  eligible,
  heldBy,
  inHandOf,
  notExpired,
  notWaiting,
  onSeen,
  type Transition,
  thisAttempt,
  unclaimed,
  waitingForInput,
} from './rules.ts';
import {
  type Content,
  heldPlace,
  type Progress,
  placeInTime,
  roundOf,
  SEEN_LIMIT,
  type Seen,
  type Task,
  type TaskError,
} from './task.ts';

export interface By extends When {
  agent: string;
  domains: readonly string[];
  /** Its capabilities, for tasks that only a capability decides on. */
  skills: readonly string[];
  /** Why it may claim nothing now. */
  rest?: Rest;
  /** Its dialect, where that is logged. */
  heardIn?: string;
}

export interface Claim {
  /** The entry that the queue message carried. */
  entry?: number;
  /** The `due` that the task is believed to have. */
  due?: number;
  seen?: Seen;
  note?: JsonObject;
  /** The name of the claim, where it has one. */
  claimId?: string;
  instance?: string;
}

/** `requested → claimed`. */
export const claim = (
  task: Pick<Task, 'project' | 'id'>,
  by: By,
  { entry, due, seen, note, claimId, instance }: Claim,
): Transition => {
  const leaseUntil = by.now + by.limits.leaseMs;
  // Moving `due` costs an index write. One that comes before the lease ends is left: when it comes, it is set anew.
  const keepsDue = due !== undefined && due <= leaseUntil;
  return {
    rules: [
      unclaimed,
      notExpired(by.now),
      notWaiting(by.now),
      eligible(by),
      ...atWork(by),
      ...(entry === undefined ? [] : [currentEntry(entry)]),
      ...(keepsDue ? [dueAt(due)] : []),
    ],
    change: {
      set: {
        status: 'claimed',
        holder: by.agent,
        holderInstance: instance,
        heardIn: by.heardIn,
        claimedAt: by.now,
        leaseUntil,
        held: placeInTime(heldPlace(task.project, by.agent), by.now, task.id),
        due: keepsDue ? undefined : leaseUntil,
        claimedBy: seen,
        claimNote: note,
        claimId,
      },
      unset: ['notBefore'],
      add: { attempt: 1 },
    },
  };
};

/** A message from the holder. */
export interface Report {
  seen: Seen;
  isKnownByContent?: true;
  /** The attempt that it is about, where it says so. */
  attempt?: number;
  /** When its sender wrote it, where its readers find it in that order. */
  sent?: Sending;
  /** What the log of messages says of it. */
  told?: JsonObject;
}

/** The claim as a message of its own. */
export const takes = (task: Task, by: By, report: Report, note: JsonObject): Change | ParleyError =>
  claimed(task, by, { due: task.due, seen: seenIn(roundOf(task) + 1, report), note });

/** Only who sees the task sees who had the work in hand before. */
const claimed = (task: Task, by: By, options: Claim): Change | ParleyError => {
  const change = onSeen(task, claim(task, by, options));
  if (change instanceof Error) return change;
  return task.chain?.includes(by.agent) ? backTo(by.agent, task.chain) : change;
};

/** The holder has claimed it some other way, and this is the announcement of that. */
export const announces = (task: Task, by: By, report: Report, note: JsonObject): Change | ParleyError =>
  onSeen(task, {
    rules: [inHandOf(by.agent)],
    change: { set: { claimedBy: seenIn(roundOf(task), report), claimNote: note } },
  });

const byHolder = (by: By, report: Report) => [heldBy(by.agent), ...thisAttempt(report.attempt)];

/** The holder lives: `→ in_progress`, and the lease runs anew. */
export const progress = (task: Task, by: By, report: Report, update: Progress): Change | ParleyError =>
  asHolder(task, by, (held) => ({
    rules: byHolder(by, report),
    change: {
      set: {
        status: 'in_progress',
        progress: update,
        leaseUntil: by.now + by.limits.leaseMs,
        startedAt: held.startedAt ?? by.now,
        seen: remembered(held, report),
      },
    },
  }));

export const renew = (by: By, attempt?: number): Transition => ({
  rules: [heldBy(by.agent), ...thisAttempt(attempt)],
  change: { set: { leaseUntil: by.now + by.limits.leaseMs } },
});

/** `→ completed`, without a look at the task: whoever holds it may end it. It then stands in its requester's inbox itself. */
export const complete = (
  by: By,
  report: Report,
  output: Content,
  carried: JsonObject,
  { artifacts, confidence }: { artifacts?: KeptArtifacts; confidence?: number } = {},
): Transition => ({
  rules: byHolder(by, report),
  change: inOrder(endedAs('completed', by), {
    set: {
      output,
      artifacts,
      outcomeCarried: carried,
      outcomeTold: report.told,
      endedBy: report.seen,
      'placed.s': inboxOrder(report.sent?.at ?? by.now, report.seen.id, report.sent?.sequence),
      confidence,
    },
    unset: ['error'],
  }),
});

/** `→ requested` once more, after a delay, while the error and the number of attempts allow it; else `→ failed`. Who waits for an answer may give up, too. */
export const fail = (task: Task, by: By, report: Report, error: TaskError, carried: JsonObject): Change | ParleyError =>
  asHolder(task, by, (held) => {
    const change = afterFailure(held, by, { ...error, agent: by.agent });
    const isEnd = change.set?.status === 'failed';
    const said = {
      seen: remembered(held, report),
      endedBy: isEnd ? report.seen : undefined,
      outcomeCarried: carried,
      outcomeTold: report.told,
    };
    return { rules: [inHandOf(by.agent), ...thisAttempt(report.attempt)], change: inOrder(change, { set: said }) };
  });

/** The holder cannot go on without an answer: the lease and the time to live stand still until it comes. */
export const askInput = (task: Task, by: By, report: Report, prompt: JsonObject): Change | ParleyError =>
  asHolder(task, by, (held) => ({
    rules: byHolder(by, report),
    change: {
      set: {
        status: 'input_required',
        prompt,
        askedAt: by.now,
        seen: remembered(held, report),
        outcomeTold: report.told,
      },
      unset: ['due', 'leaseUntil'],
    },
  }));

/** The same agent goes on, with the answer. */
export const giveInput = (task: Task, { now, limits }: When, answer: Json): Change | ParleyError =>
  onSeen(task, {
    rules: [waitingForInput],
    change: {
      set: {
        status: 'claimed',
        answer,
        deadline: task.deadline + now - (task.askedAt ?? now),
        leaseUntil: now + limits.leaseMs,
        due: now + limits.leaseMs,
      },
      unset: ['prompt', 'askedAt'],
      add: { answers: 1 },
    },
  });

/** Where nobody holds the task, a report claims it in the same write: the claim may be late, or lost. */
export const asHolder = (task: Task, by: By, then: (held: Task) => Transition): Change | ParleyError => {
  if (task.status !== 'requested') return onSeen(task, then(task));
  const taken = claimed(task, by, {});
  if (taken instanceof Error) return taken;
  const held: Task = { ...task, status: 'claimed', holder: by.agent, attempt: task.attempt + 1, claimedAt: by.now };
  const next = onSeen(held, then(held));
  return next instanceof Error ? next : inOrder(taken, next);
};

const remembered = (task: Task, report: Report): Seen[] =>
  [...(task.seen ?? []), seenIn(roundOf(task), report)].slice(-SEEN_LIMIT);

const seenIn = (round: number, { seen, isKnownByContent }: Report): Seen =>
  isKnownByContent ? { ...seen, round } : seen;
