import { ParleyError } from '../../kernel/errors.ts';
import { type Change, greaterThan, notEquals, notExists, or } from '../../ports/conditions.ts';
import type { TransactionWrite } from '../../ports/records.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { Deps } from '../deps.ts';
import { type AgentHealth, healthRef, type RegisteredAgent } from './agent.ts';

export interface ControlCommand {
  action: 'start' | 'pause' | 'drain' | 'resume' | 'stop' | 'health_check';
  reason?: string;
  /** The maximum length of a pause, or the deadline of a health check. */
  timeoutMs?: number;
}

export interface AgentPause {
  /** `drain`: it is about to end, and waits for nothing more. */
  action: 'pause' | 'drain' | 'stop';
  by: string;
  reason?: string;
  since: number;
  /** Absent if only another command ends it. */
  until?: number;
}

export const COORDINATOR_ROLE = 'coordinator';

export const assertCoordinator = (caller: Caller, what: string): void => {
  if (caller.role === 'admin' || caller.registered.agent.role === COORDINATOR_ROLE) return;
  throw new ParleyError(
    'forbidden',
    `Only a coordinator may ${what}: register ${caller.registered.agent.id} with "role": "${COORDINATOR_ROLE}".`,
  );
};

export const getActivePause = ({ health }: RegisteredAgent, now: number): AgentPause | undefined => {
  const pause = health?.pause;
  return pause && (pause.until === undefined || pause.until > now) ? pause : undefined;
};

const HEALTH_CHECK_MS = 30_000;

/**
 * Written in one transaction with the message. Sets the timer to now, because an earlier deadline, such as silence, may
 * exist.
 */
export const buildControlWrite = (
  deps: Deps,
  project: string,
  to: string,
  by: string,
  command: ControlCommand,
): TransactionWrite => ({
  kind: 'update',
  key: healthRef(project, to),
  change: buildControlChange(command, by, deps.clock.now()),
});

export const buildControlChange = ({ action, reason, timeoutMs }: ControlCommand, by: string, now: number): Change => {
  const until = timeoutMs === undefined ? undefined : now + timeoutMs;
  switch (action) {
    case 'pause':
      return {
        if: NOT_STOPPED,
        set: { pause: { action, by, reason, since: now, until }, due: until && now },
      };
    case 'drain':
      return { if: NOT_STOPPED, set: { pause: { action, by, reason, since: now } } };
    case 'stop':
      return { set: { pause: { action, by, reason, since: now } } };
    case 'resume':
      return { if: NOT_STOPPED, unset: ['pause'] };
    case 'start':
      return { unset: ['pause'] };
    case 'health_check': {
      const checkBy = until ?? now + HEALTH_CHECK_MS;
      return { if: or(notExists('checkBy'), greaterThan('checkBy', checkBy)), set: { checkBy, due: now } };
    }
  }
};

const NOT_STOPPED = or(notExists('pause'), notEquals('pause.action', 'stop'));

/** None for a health check: the earlier one still pending ends no later. */
export const checkControlApplied = ({ action }: ControlCommand, to: string): ParleyError | undefined =>
  action === 'health_check'
    ? undefined
    : new ParleyError('agent_stopped', `${to} has been stopped. Only "start" lets it work again.`);

/** A pause ends; an unanswered health check makes the agent unhealthy. */
export const buildControlExpiry = ({ pause, checkBy }: AgentHealth, now: number): Change => {
  const isRestOver = pause?.until !== undefined && pause.until <= now;
  const isUnanswered = checkBy !== undefined && checkBy <= now;
  return {
    set: isUnanswered ? { status: UNHEALTHY } : {},
    unset: [...(isRestOver ? ['pause'] : []), ...(isUnanswered ? ['checkBy'] : [])],
  };
};

export const UNHEALTHY = 'unhealthy';

export const computeControlDue = ({ pause, checkBy }: AgentHealth, now: number): number =>
  Math.min(...[pause?.until, checkBy].map((at) => (at !== undefined && at > now ? at : Infinity)));
