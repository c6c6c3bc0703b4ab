import type { Deps } from '../../identity/deps.ts';
import type { Trace } from '../../kernel/trace.ts';
import type {
  ActiveTurn,
  AgentState,
  ToolCallStatus,
  ToolReport,
  TurnEnd,
  TurnResult,
  TurnStep,
} from '../../model/agent-state.ts';
import { type Change, type Condition, greaterThan } from '../../ports/conditions.ts';
import type { Rule, Transition } from '../../tasks/transitions/rules.ts';
import {
  type FencingToken,
  requireActive,
  requireAllowedChannel,
  requireAwaited,
  requireDepth,
  requireDispatched,
  requireNewCalls,
  requireResumed,
  requireRunning,
  requireSubjectChannel,
} from './rules.ts';

interface TurnLimits {
  repeatWakeupMs: number;
  startTimeoutMs: number;
  heartbeatTimeoutMs: number;
  toolTimeoutMs: number;
}

export interface TurnTransitionContext {
  now: number;
  limits: TurnLimits;
}

export const toTurnTransitionContext = ({ clock, config }: Deps): TurnTransitionContext => ({
  now: clock.now(),
  limits: config.turns,
});

/** Removed when the turn ends. */
const ACTIVE_FIELDS = [
  'turn',
  'active',
  'leaseId',
  'leasedAt',
  'aliveAt',
  'lastWakeupAt',
  'step',
  'steps',
  'waiting',
  'waitingSteps',
  'callCount',
  'calledServices',
  'reports',
  'openCallCount',
  'deadlines',
  'deadline',
  'due',
];

/** `idle → dispatched`, with the next epoch. */
export const buildLeaseChange = (
  epoch: number,
  turn: string,
  active: ActiveTurn,
  leaseId: string | undefined,
  { now, limits }: TurnTransitionContext,
): Change => ({
  set: {
    state: 'dispatched',
    epoch,
    turn,
    active,
    leaseId,
    leasedAt: now,
    aliveAt: now,
    steps: 0,
    waiting: {},
    waitingSteps: {},
    callCount: 0,
    due: now + Math.min(limits.repeatWakeupMs, limits.startTimeoutMs),
  },
});

/** `dispatched → running`. `due` is early and stays. */
export const buildStartTransition = (token: FencingToken, { now }: TurnTransitionContext): Transition<AgentState> => ({
  rules: [requireActive(token), requireDispatched],
  change: { set: { state: 'running', aliveAt: now } },
});

export const buildStepTransition = (token: FencingToken, done: TurnStep): Transition<AgentState> => ({
  rules: [requireActive(token), requireResumed],
  change: { set: { step: done, aliveAt: done.at }, add: { steps: 1 } },
});

export interface AwaitedCall {
  toolCall: string;
  step: string;
}

/** `running → suspended`. Calls stay known until the turn ends, so each has one report. */
export const buildSuspendTransition = (
  token: FencingToken,
  calls: AwaitedCall[],
  waitMs: number | undefined,
  { now, limits }: TurnTransitionContext,
): Transition<AgentState> => {
  const deadline = now + (waitMs ?? limits.toolTimeoutMs);
  return {
    rules: [requireActive(token), requireResumed, ...requireNewCalls(calls.map(({ toolCall }) => toolCall))],
    change: {
      set: {
        ...Object.fromEntries(calls.map(({ toolCall }) => [`waiting.${toolCall}`, 'waiting' satisfies ToolCallStatus])),
        ...Object.fromEntries(calls.map(({ toolCall, step: id }) => [`waitingSteps.${toolCall}`, id])),
        state: 'suspended',
        calledServices: {},
        reports: {},
        openCallCount: calls.length,
        deadlines: Object.fromEntries(calls.map(({ toolCall }) => [toolCall, deadline])),
        deadline,
        aliveAt: now,
        due: Math.min(deadline, now + limits.heartbeatTimeoutMs / 2),
      },
      add: { callCount: calls.length },
    },
  };
};

/** `suspended → running`, once all tools have reported. */
export const buildResumeTransition = (
  token: FencingToken,
  leaseId: string | undefined,
  { now }: TurnTransitionContext,
): Transition<AgentState> => ({
  rules: [requireActive(token), requireResumable],
  change: {
    set: { state: 'running', aliveAt: now, leaseId },
    // The earlier lease is void.
    ...(leaseId === undefined && { unset: ['leaseId'] }),
  },
});

const requireResumable: Rule<AgentState> = {
  ...requireRunning,
  holds: {
    all: [
      { field: 'state', is: 'suspended' },
      { field: 'openCallCount', is: 0 },
    ],
  },
};

export interface ReportContext {
  /** Absent in versions without it. */
  depth?: number | undefined;
  /** Of the subject. */
  channel?: string;
  /** Channels of the sender; undefined for all. */
  channels?: readonly string[];
}

/** One open call less, or the end of the turn, by `afterExecution`. */
export const buildReportTransition = (
  token: FencingToken,
  toolCall: string,
  { depth, channel, channels }: ReportContext,
  report: ToolReport,
  { now, limits }: TurnTransitionContext,
): Transition<AgentState> => {
  const rules = [
    requireActive(token),
    ...(depth === undefined ? [] : [requireDepth(depth)]),
    ...requireAllowedChannel(channels),
    ...requireSubjectChannel(channel),
    requireAwaited(toolCall),
  ];
  if (report.afterExecution === 'terminate') {
    const end = { status: report.status, at: now, deliverable: report.card, toolResultCard: report.card };
    return { rules, change: buildTurnEndChange(token, end, toolCall) };
  }
  return {
    rules,
    change: {
      set: {
        [`waiting.${toolCall}`]: 'received',
        [`reports.${toolCall}`]: report,
        aliveAt: now,
        due: now + limits.repeatWakeupMs,
      },
      add: { openCallCount: -1 },
    },
  };
};

/** For a blind write: the deadline is not before the next timer. */
export const requireDistantDeadline = ({ now, limits }: TurnTransitionContext): Condition =>
  greaterThan('deadline', now + limits.repeatWakeupMs);

/** For a read record. */
export const capDueAtDeadline = (transition: Transition<AgentState>, deadline = Infinity): Transition<AgentState> => {
  const { due } = transition.change.set ?? {};
  if (typeof due !== 'number') return transition;
  return {
    ...transition,
    change: { ...transition.change, set: { ...transition.change.set, due: Math.min(due, deadline) } },
  };
};

export const buildDeliverTransition = (token: FencingToken, end: TurnEnd): Transition<AgentState> => ({
  rules: [requireActive(token), requireRunning],
  change: buildTurnEndChange(token, end),
});

/** Whatever the turn is doing. */
export const buildStopTransition = (
  token: FencingToken,
  end: TurnEnd,
  mayKnow: (head: AgentState) => boolean,
): Transition<AgentState> => ({
  rules: [requireActive(token, mayKnow)],
  change: buildTurnEndChange(token, end),
});

export const buildCanceledEnd = (now: number, reason: string | undefined): TurnEnd => ({
  status: 'canceled',
  at: now,
  error: reason ?? 'The turn was stopped.',
  errorCode: 'stopped',
});

/** `→ idle`. The end stays until the next one. */
const buildTurnEndChange = ({ turn, epoch }: FencingToken, end: TurnEnd, toolCall?: string): Change => ({
  set: { state: 'idle', last: { ...end, turn, epoch, toolCall } },
  unset: ACTIVE_FIELDS,
});

/** The worker is taken for dead. The new epoch makes its later writes stale. */
export const buildReapChange = (token: FencingToken, now: number, why: string): Change => {
  const end: TurnEnd = { status: 'failed', at: now, error: why, errorCode: 'reaped' };
  return { ...buildTurnEndChange(token, end), add: { epoch: 1 } };
};

/** For a tool that did not report in time. */
export const buildTimeoutReport = (card: string, now: number, trace: Trace): ToolReport => ({
  type: 'timeout',
  status: 'timeout' satisfies TurnResult,
  afterExecution: 'suspend',
  card,
  at: now,
  ...trace,
});
