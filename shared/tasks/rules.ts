import type { Rest } from '../agents/orders.ts';
import { ParleyError } from '../errors.ts';
import { iso } from '../json/iso.ts';
import { above, absent, all, any, below, type Change, type Condition, holds, is, oneOf } from '../ports/conditions.ts';
import type { Item } from '../ports/records.ts';
import type { Status, Task } from './task.ts';

/** One thing that must be true of a record, and what to say where it is not. */
export interface Rule<T extends Item = Task> {
  holds: Condition;
  refusal: (record: T) => ParleyError;
}

/** A change of a record with the rules that allow it: conditions of the write, and reasons for its refusal. */
export interface Transition<T extends Item = Task> {
  rules: Rule<T>[];
  change: Change;
}

/** The change as one conditional write that needs no read before it. */
export const unseen = <T extends Item>({ rules, change }: Transition<T>, ...more: Condition[]): Change => ({
  ...change,
  if: all(...rules.map((rule) => rule.holds), ...more),
});

/** The same on a record that was seen: refused with its reason, or written only if nobody wrote in between. */
export const onSeen = <T extends Item>(record: T, { rules, change }: Transition<T>): Change | ParleyError => {
  const broken = rules.find((rule) => !holds(rule.holds, record));
  return broken ? broken.refusal(record) : { ...change, if: is('v', record.v) };
};

export const unclaimed: Rule = {
  holds: is('status', 'requested'),
  refusal: (task) => {
    if (task.endedAt !== undefined) return ended(task);
    return task.status === 'waiting' ? waiting(task) : alreadyClaimed(task);
  },
};

export const notExpired = (now: number): Rule => ({
  holds: above('deadline', now),
  refusal: (task) => new ParleyError('task_expired', `The task ${task.id} expired at ${iso(task.deadline)}.`),
});

export const notWaiting = (now: number): Rule => ({
  holds: any(absent('notBefore'), below('notBefore', now + 1)),
  refusal: (task) =>
    new ParleyError(
      'retry_pending',
      `The task ${task.id} is tried again at ${iso(task.notBefore ?? now)}; it cannot be claimed before.`,
    ),
});

interface Candidate {
  agent: string;
  domains: readonly string[];
  skills: readonly string[];
  rest?: Rest;
}

export const eligible = ({ agent, domains, skills }: Candidate): Rule => ({
  holds: any(
    is('to', agent),
    all(absent('to'), absent('skill'), oneOf('domain', ...domains)),
    all(absent('to'), oneOf('skill', ...skills)),
  ),
  refusal: (task) =>
    new ParleyError(
      'not_eligible',
      task.to === undefined ? notServed(agent, task) : `The task ${task.id} is for the agent ${task.to}.`,
    ),
});

/** Who was told to pause or stop goes on with what it holds, and is given nothing new. */
export const atWork = ({ agent, rest }: Pick<Candidate, 'agent' | 'rest'>): Rule[] =>
  rest === undefined
    ? []
    : [{ holds: any(), refusal: (task) => new ParleyError('agent_resting', restingOf(agent, rest, task)) }];

const restingOf = (agent: string, { action, by, until }: Rest, { id }: Task): string => {
  if (action === 'stop') return `${by} has stopped ${agent}: it cannot claim the task ${id} before "start".`;
  const end = until === undefined ? '' : ` or ${iso(until)}`;
  return `${by} has paused ${agent}: it cannot claim the task ${id} before "resume"${end}.`;
};

const notServed = (agent: string, { skill, domain }: Task): string =>
  skill === undefined
    ? `The agent ${agent} does not serve the domain ${domain}.`
    : `The agent ${agent} has no capability ${skill}.`;

export const currentEntry = (entry: number): Rule => ({
  holds: is('entry', entry),
  refusal: (task) => new ParleyError('stale_attempt', `The task ${task.id} has been queued again since.`),
});

/** The timers will still look at the task when the queue message said they would. */
export const dueAt = (due: number): Rule => ({ ...unclaimed, holds: is('due', due) });

export const heldBy = (agent: string): Rule => heldAs(agent, 'claimed', 'in_progress');

/** Also while it waits for an answer. */
export const inHandOf = (agent: string): Rule => heldAs(agent, 'claimed', 'in_progress', 'input_required');

const heldAs = (agent: string, ...statuses: Status[]): Rule => ({
  holds: all(oneOf('status', ...statuses), is('holder', agent)),
  refusal: (task) => {
    if (task.endedAt !== undefined) return ended(task);
    if (task.status === 'waiting') return waiting(task);
    if (task.holder === agent) return unanswered(task);
    const holder = task.holder ?? null;
    const whose = holder === null ? 'is held by nobody' : `is held by ${holder}`;
    return new ParleyError('not_holder', `The task ${task.id} ${whose}, not by ${agent}.`, { facts: { holder } });
  },
});

export const thisAttempt = (attempt: number | undefined): Rule[] =>
  attempt === undefined
    ? []
    : [
        {
          holds: is('attempt', attempt),
          refusal: (task) =>
            new ParleyError('stale_attempt', `The task ${task.id} is at attempt ${task.attempt}, not ${attempt}.`, {
              facts: { attempt: task.attempt },
            }),
        },
      ];

export const open: Rule = { holds: absent('endedAt'), refusal: (task) => ended(task) };

export const waitingForInput: Rule = {
  holds: is('status', 'input_required'),
  refusal: (task) => (task.endedAt === undefined ? notAsked(task) : ended(task)),
};

const notAsked = (task: Task): ParleyError =>
  new ParleyError('not_waiting', `The task ${task.id} is ${task.status} and waits for no input.`);

export const retryable: Rule = {
  holds: oneOf('status', 'failed', 'expired'),
  refusal: (task) =>
    new ParleyError('not_retryable', `The task ${task.id} is ${task.status}; only a failed or expired one runs again.`),
};

const waiting = ({ id, waitsFor = [] }: Task): ParleyError =>
  new ParleyError('task_waiting', `The task ${id} waits until others are completed: ${waitsFor.join(', ')}.`, {
    facts: { waitsFor },
  });

const unanswered = ({ id, from }: Task): ParleyError =>
  new ParleyError(
    'waiting_for_input',
    `The task ${id} waits for the answer of ${from}. Until then its holder can only fail, or give it up.`,
  );

const alreadyClaimed = (task: Task): ParleyError =>
  new ParleyError('already_claimed', `The task ${task.id} is held by ${task.holder}.`, {
    facts: { holder: task.holder ?? null },
  });

const ended = (task: Task): ParleyError => {
  const at = iso(task.endedAt ?? task.createdAt);
  if (task.status === 'cancelled') return new ParleyError('cancelled', `The task ${task.id} was cancelled at ${at}.`);
  if (task.status === 'expired') return new ParleyError('task_expired', `The task ${task.id} expired at ${at}.`);
  return new ParleyError('task_ended', `The task ${task.id} ended ${task.status} at ${at}.`, {
    facts: { state: task.status, holder: task.holder ?? null },
  });
};
