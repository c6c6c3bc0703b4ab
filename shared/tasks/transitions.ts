import type { ParleyError } from '../errors.ts';
import { inboxOrder, inboxPk } from '../inbox/delivery.ts';
import type { Json, JsonObject } from '../json/json.ts';
import type { Sending } from '../messages/command.ts';
import type { Change } from '../ports/conditions.ts';
import type { IndexKey } from '../ports/records.ts';
import type { KeptArtifacts } from './artifacts.ts';
import {
  currentEntry,
  dueAt,
  eligible,
  heldBy,
  notExpired,
  notWaiting,
  onSeen,
  open,
  retryable,
  type Transition,
  thisAttempt,
  unclaimed,
  waitingForInput,
} from './rules.ts';
import {
  type Content,
  failedPlace,
  heldPlace,
  type Progress,
  SEEN_LIMIT,
  type Seen,
  type Status,
  sortable,
  type Task,
  type TaskError,
} from './task.ts';

export interface Limits {
  leaseMs: number;
  maxAttempts: number;
  /** How long a finished task is kept. */
  keepMs: number;
  /** A queue message that nobody saw for this long may be lost; the task is then sent again, ever more rarely. */
  resendMs: number;
  /** The delay before a failed attempt is first repeated; it doubles each time. */
  retryMs: number;
  longestRetryMs: number;
}

/** When something is done to a task, and under which limits. */
export interface When {
  now: number;
  limits: Limits;
}

interface End {
  now: number;
  limits: Pick<Limits, 'keepMs'>;
}

export interface By extends When {
  agent: string;
  domains: readonly string[];
  /** Its capabilities, for tasks that only a capability decides on. */
  skills: readonly string[];
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
}

/** `requested → claimed`. */
export const claim = (
  task: Pick<Task, 'project' | 'id'>,
  by: By,
  { entry, due, seen, note, claimId }: Claim,
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
      ...(entry === undefined ? [] : [currentEntry(entry)]),
      ...(keepsDue ? [dueAt(due)] : []),
    ],
    change: {
      set: {
        status: 'claimed',
        holder: by.agent,
        claimedAt: by.now,
        leaseUntil,
        held: { p: heldPlace(task.project, by.agent), s: sortable(by.now) },
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
  /** The attempt that it is about, where it says so. */
  attempt?: number;
  /** When its sender wrote it, where its readers find it in that order. */
  sent?: Sending;
  /** What the log of messages says of it. */
  told?: JsonObject;
}

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
        seen: remembered(held, report.seen),
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

/** `→ requested` once more, after a delay, while the error and the number of attempts allow it; else `→ failed`. */
export const fail = (task: Task, by: By, report: Report, error: TaskError, carried: JsonObject): Change | ParleyError =>
  asHolder(task, by, (held) => {
    const change = afterFailure(held, by, { ...error, agent: by.agent });
    const isEnd = change.set?.status === 'failed';
    const said = {
      seen: remembered(held, report.seen),
      endedBy: isEnd ? report.seen : undefined,
      outcomeCarried: carried,
      outcomeTold: report.told,
    };
    return { rules: byHolder(by, report), change: inOrder(change, { set: said }) };
  });

/** The holder cannot go on without an answer: the lease and the time to live stand still until it comes. */
export const askInput = (task: Task, by: By, report: Report, prompt: JsonObject): Change | ParleyError =>
  asHolder(task, by, (held) => ({
    rules: byHolder(by, report),
    change: {
      set: { status: 'input_required', prompt, askedAt: by.now, seen: remembered(held, report.seen) },
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
    },
  });

/** Where nobody holds the task, a report claims it in the same write: the claim may be late, or lost. */
export const asHolder = (task: Task, by: By, then: (held: Task) => Transition): Change | ParleyError => {
  if (task.status !== 'requested') return onSeen(task, then(task));
  const claimed = onSeen(task, claim(task, by, {}));
  if (claimed instanceof Error) return claimed;
  const held: Task = { ...task, status: 'claimed', holder: by.agent, attempt: task.attempt + 1, claimedAt: by.now };
  const next = onSeen(held, then(held));
  return next instanceof Error ? next : inOrder(claimed, next);
};

/** Whoever asked for it, or an administrator, no longer wants it. */
export const cancel = (who: string, when: End): Transition => ({
  rules: [open],
  change: inOrder(endedAs('cancelled', when), { set: { cancelledBy: who } }),
});

/** A failed or expired task runs again, with as many attempts as a new one. */
export const runAgain = (task: Task, when: When): Change | ParleyError =>
  onSeen(task, {
    rules: [retryable],
    change: inOrder(queued(when.now + task.ttlSeconds * 1000, when), {
      set: {
        maxAttempts: task.attempt + (task.retry?.maxAttempts ?? when.limits.maxAttempts),
        placed: inboxPlace(task),
      },
      unset: [
        ...HOLD,
        ...(inboxPlace(task) ? [] : ['placed']),
        'instance',
        'endedAt',
        'expires',
        'error',
        'outcomeCarried',
        'outcomeTold',
        'endedBy',
      ],
    }),
  });

/**
 * Where it will stand when it is completed. What belongs to a batch comes to its requester with the batch, and a requester on NATS
 * reads no inbox.
 */
export const inboxPlace = ({
  project,
  from,
  joins,
  fromNats,
}: Pick<Task, 'project' | 'from' | 'joins' | 'fromNats'>): IndexKey | undefined =>
  joins || fromNats ? undefined : { p: inboxPk(project, from) };

/**
 * When a queued task is first looked at: before its queue message could be lost, and no later than the lease of whoever
 * claims it would end, so that a claim need not move it.
 */
export const firstLook = (now: number, deadline: number, { resendMs, leaseMs }: Limits): number =>
  Math.min(deadline, now + Math.min(resendMs, leaseMs));

/** Back to the queue under the next entry. */
export const queued = (deadline: number, { now, limits }: When): Change => ({
  set: { status: 'requested', queuedAt: now, resent: 0, deadline, due: firstLook(now, deadline, limits) },
  unset: ['notBefore'],
  add: { entry: 1 },
});

export const endedAs = (status: Status, { now, limits }: End): Change => ({
  set: { status, endedAt: now, expires: now + limits.keepMs },
  unset: ['held', 'due', 'leaseUntil', 'notBefore', 'prompt', 'askedAt'],
});

/** Failed for good: a dead letter, in the list of those. */
export const failed = (task: Task, when: When, error: TaskError): Change =>
  inOrder(endedAs('failed', when), {
    set: { error, placed: { p: failedPlace(task.project), s: `${sortable(when.now)}#${task.id}` } },
  });

export const afterFailure = (task: Task, when: When, error: TaskError): Change => {
  const { now, limits } = when;
  const attempts = task.retry?.maxAttempts ? task.maxAttempts : Math.min(task.maxAttempts, error.attempts ?? Infinity);
  if (!error.retryable || task.attempt >= attempts) return failed(task, when, error);
  const growing = delayMs(task, error, limits);
  const notBefore = now + (error.retryAfterSeconds === undefined ? growing : error.retryAfterSeconds * 1000);
  return {
    set: { status: 'requested', error, notBefore, due: notBefore, deadline: notBefore + task.ttlSeconds * 1000 },
    unset: HOLD,
  };
};

/** The requester's own policy comes before the rule of the error, and that before the usual doubling. */
const delayMs = ({ attempt, retry }: Task, error: TaskError, limits: Limits): number => {
  const first = retry?.initialMs ?? limits.retryMs;
  const delay = { fixed: first, linear: first * attempt, exponential: first * 2 ** (attempt - 1) };
  return Math.min(delay[retry?.backoff ?? error.backoff ?? 'exponential'], limits.longestRetryMs);
};

/** What a task forgets when its holder loses it. */
export const HOLD = ['held', 'holder', 'claimedAt', 'startedAt', 'leaseUntil', 'claimNote', 'claimId', 'progress'];

const remembered = (task: Task, seen: Seen): Seen[] => [...(task.seen ?? []), seen].slice(-SEEN_LIMIT);

/** One change that does what the given ones do one after the other, under the condition of the first. */
export const inOrder = (...changes: Change[]): Change => {
  const set: Record<string, unknown> = {};
  const unset = new Set<string>();
  const add: Record<string, number> = {};
  for (const change of changes) {
    for (const [field, value] of Object.entries(change.set ?? {})) {
      if (value === undefined) continue;
      set[field] = value;
      unset.delete(field);
    }
    for (const field of change.unset ?? []) {
      delete set[field];
      unset.add(field);
    }
    Object.assign(add, change.add);
  }
  return { set, unset: [...unset], add, if: changes[0]?.if };
};
