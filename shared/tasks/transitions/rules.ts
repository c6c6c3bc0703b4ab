import { buildDomainWildcard } from '../../identity/agents/agent.ts';
import type { AgentPause } from '../../identity/agents/agent-control.ts';
import type { PausedQueues } from '../../identity/queue-pauses.ts';
import { ParleyError } from '../../kernel/errors.ts';
import type { Task, TaskStatus } from '../../model/task.ts';
import { toIso } from '../../ports/clock.ts';
import {
  and,
  type Change,
  type Condition,
  equals,
  equalsAny,
  evaluateCondition,
  exists,
  greaterThan,
  lessThan,
  notEquals,
  notExists,
  or,
} from '../../ports/conditions.ts';
import type { Item } from '../../ports/records.ts';

/** A condition with its error. */
export interface Rule<T extends Item = Task> {
  holds: Condition;
  toError: (record: T) => ParleyError;
}

/** A change with its rules. */
export interface Transition<T extends Item = Task> {
  rules: Rule<T>[];
  change: Change;
}

/** A blind conditional write. */
export const toConditionalUpdate = <T extends Item>(
  { rules, change }: Transition<T>,
  ...more: Condition[]
): Change => ({
  ...change,
  if: and(...rules.map((rule) => rule.holds), ...more),
});

/** On a read record: an error, or a write conditional on its version. */
export const applyTo = <T extends Item>(record: T, { rules, change }: Transition<T>): Change | ParleyError => {
  const broken = rules.find((rule) => !evaluateCondition(rule.holds, record));
  return broken ? broken.toError(record) : { ...change, if: equals('v', record.v) };
};

export const requireUnclaimed: Rule = {
  holds: equals('status', 'requested'),
  toError: (task) => {
    if (task.endedAt !== undefined) return taskEndedError(task);
    return task.status === 'waiting' ? taskWaitingError(task) : alreadyClaimedError(task);
  },
};

export const requireNotExpired = (now: number): Rule => ({
  holds: greaterThan('deadline', now),
  toError: (task) => new ParleyError('task_expired', `The task ${task.id} expired at ${toIso(task.deadline)}.`),
});

export const requireRetryDelayOver = (now: number): Rule => ({
  holds: or(notExists('notBefore'), lessThan('notBefore', now + 1)),
  toError: (task) =>
    new ParleyError(
      'retry_pending',
      `The task ${task.id} ${task.attempt === 0 ? 'starts' : 'is tried again'} at ${toIso(task.notBefore ?? now)}; it cannot be claimed before.`,
    ),
});

interface ClaimCandidate {
  agent: string;
  /** Domains that the agent serves completely. */
  domains: readonly string[];
  capabilities: readonly string[];
  pause?: AgentPause;
}

/** A read record shows its capability; a blind write knows only the queue. */
export const requireEligible = ({ agent, domains, capabilities }: ClaimCandidate): Rule => ({
  holds: or(
    equals('to', agent),
    and(
      notExists('to'),
      or(
        equalsAny('domain', ...domains),
        ...(capabilities.length > 0
          ? [equalsAny('routingCapability', ...capabilities), equalsAny('capability', ...capabilities)]
          : []),
      ),
    ),
  ),
  toError: (task) =>
    new ParleyError(
      'not_eligible',
      task.to === undefined ? formatNotServedMessage(agent, task) : `The task ${task.id} is for the agent ${task.to}.`,
    ),
});

/** A paused agent keeps its tasks and gets no new ones. */
export const requireNotPaused = ({ agent, pause }: Pick<ClaimCandidate, 'agent' | 'pause'>): Rule[] =>
  pause === undefined
    ? []
    : [{ holds: or(), toError: (task) => new ParleyError('agent_paused', formatPauseMessage(agent, pause, task)) }];

/** What is addressed to an agent is in none of these queues. */
export const requireQueueNotPaused = ({ pausedQueues = {} }: { pausedQueues?: PausedQueues }): Rule[] => {
  const queues = Object.keys(pausedQueues);
  if (queues.length === 0) return [];
  const names = (kind: string): string[] =>
    queues.flatMap((id) => (id.startsWith(`${kind}:`) ? id.slice(kind.length + 1) : []));
  const isElsewhere = [
    ...names('domain').map((name) => notEquals('domain', name)),
    ...names('capability').map((name) => notEquals('routingCapability', name)),
  ];
  const toError = ({ id }: Task): ParleyError =>
    new ParleyError('queue_paused', `The queue of the task ${id} is paused.`, { retryable: true });
  return [{ holds: or(exists('to'), and(...isElsewhere)), toError }];
};

const formatPauseMessage = (agent: string, { action, by, until }: AgentPause, { id }: Task): string => {
  if (action === 'stop') return `${by} has stopped ${agent}: it cannot claim the task ${id} before "start".`;
  const end = until === undefined ? '' : ` or ${toIso(until)}`;
  return `${by} has paused ${agent}: it cannot claim the task ${id} before "resume"${end}.`;
};

const formatNotServedMessage = (agent: string, { capability, domain }: Task): string =>
  domain === undefined
    ? `The agent ${agent} has no capability ${capability}.`
    : `The agent ${agent} declares neither ${capability} nor ${buildDomainWildcard(domain)}, all of the domain ${domain}.`;

export const requireQueueGeneration = (entry: number): Rule => ({
  holds: equals('queueGeneration', entry),
  toError: (task) => new ParleyError('stale_attempt', `The task ${task.id} has been queued again since.`),
});

/** The timer is still where the queue message says. */
export const requireDue = (due: number): Rule => ({ ...requireUnclaimed, holds: equals('due', due) });

export const requireHolder = (agent: string): Rule => requireHolderInStatus(agent, 'claimed', 'in_progress');

/** Also while it waits for an answer. */
export const requireAssignedTo = (agent: string): Rule =>
  requireHolderInStatus(agent, 'claimed', 'in_progress', 'input_required');

const requireHolderInStatus = (agent: string, ...statuses: TaskStatus[]): Rule => ({
  holds: and(equalsAny('status', ...statuses), equals('holder', agent)),
  toError: (task) => {
    if (task.endedAt !== undefined) return taskEndedError(task);
    if (task.status === 'waiting') return taskWaitingError(task);
    if (task.holder === agent) return awaitingInputError(task);
    const holder = task.holder ?? null;
    const whose = holder === null ? 'is held by nobody' : `is held by ${holder}`;
    return new ParleyError('not_holder', `The task ${task.id} ${whose}, not by ${agent}.`, { details: { holder } });
  },
});

export const requireAttempt = (attempt: number | undefined): Rule[] =>
  attempt === undefined
    ? []
    : [
        {
          holds: equals('attempt', attempt),
          toError: (task) =>
            new ParleyError('stale_attempt', `The task ${task.id} is at attempt ${task.attempt}, not ${attempt}.`, {
              details: { attempt: task.attempt },
            }),
        },
      ];

export const requireOpen: Rule = { holds: notExists('endedAt'), toError: (task) => taskEndedError(task) };

export const requireInputRequired: Rule = {
  holds: equals('status', 'input_required'),
  toError: (task) => (task.endedAt === undefined ? notAwaitingInputError(task) : taskEndedError(task)),
};

const notAwaitingInputError = (task: Task): ParleyError =>
  new ParleyError('not_waiting', `The task ${task.id} is ${task.status} and waits for no input.`);

export const requireRetryable: Rule = {
  holds: equalsAny('status', 'failed', 'expired'),
  toError: (task) =>
    new ParleyError('not_retryable', `The task ${task.id} is ${task.status}; only a failed or expired one runs again.`),
};

const taskWaitingError = ({ id, dependencyIds = [] }: Task): ParleyError =>
  new ParleyError('task_waiting', `The task ${id} waits until others are completed: ${dependencyIds.join(', ')}.`, {
    details: { dependencies: dependencyIds },
  });

const awaitingInputError = ({ id, from }: Task): ParleyError =>
  new ParleyError(
    'waiting_for_input',
    `The task ${id} waits for the answer of ${from}. Until then its holder can only fail, or give it up.`,
  );

const alreadyClaimedError = (task: Task): ParleyError =>
  new ParleyError('already_claimed', `The task ${task.id} is held by ${task.holder}.`, {
    details: { holder: task.holder ?? null },
  });

const taskEndedError = (task: Task): ParleyError => {
  const at = toIso(task.endedAt ?? task.createdAt);
  if (task.status === 'cancelled') return new ParleyError('cancelled', `The task ${task.id} was cancelled at ${at}.`);
  if (task.status === 'expired') return new ParleyError('task_expired', `The task ${task.id} expired at ${at}.`);
  return new ParleyError('task_ended', `The task ${task.id} ended ${task.status} at ${at}.`, {
    details: { state: task.status, holder: task.holder ?? null },
  });
};
