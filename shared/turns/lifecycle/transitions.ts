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

/** When something is done to a head, and under which limits. */
export interface TurnTransitionContext {
  now: number;
  limits: TurnLimits;
}

export const toTurnTransitionContext = ({ clock, config }: Deps): TurnTransitionContext => ({
  now: clock.now(),
  limits: config.turns,
});

/** What a head forgets with a turn. */
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

/** `idle → dispatched`, under the next epoch. */
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

/** `dispatched → running`. `due` stays: it comes early, and is then set anew. */
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

/** `running → suspended` until every tool has reported. Calls stay known until the turn ends, so that each is waited for once. */
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

/** The worker takes up a turn whose tools have all reported. */
export const buildResumeTransition = (
  token: FencingToken,
  leaseId: string | undefined,
  { now }: TurnTransitionContext,
): Transition<AgentState> => ({
  rules: [requireActive(token), requireResumable],
  change: {
    set: { state: 'running', aliveAt: now, leaseId },
    // Whoever leased it before has it no longer.
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

/** What a report must agree with. */
export interface ReportContext {
  /** Absent where its version lets it be left out. */
  depth?: number | undefined;
  /** The one that its subject names, where it came under one. */
  channel?: string;
  /** Those that the sender may use; undefined for every one. */
  channels?: readonly string[];
}

/** A tool has reported: one less to wait for, or the end of the turn, as the tool wants it. */
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

/** Without a look at the head, only where the deadline is not sooner than the next look that the report asks for. */
export const requireDistantDeadline = ({ now, limits }: TurnTransitionContext): Condition =>
  greaterThan('deadline', now + limits.repeatWakeupMs);

/** The same where the deadline has been seen. */
export const capDueAtDeadline = (transition: Transition<AgentState>, deadline = Infinity): Transition<AgentState> => {
  const { due } = transition.change.set ?? {};
  if (typeof due !== 'number') return transition;
  return {
    ...transition,
    change: { ...transition.change, set: { ...transition.change.set, due: Math.min(due, deadline) } },
  };
};

/** The worker has done what it was asked. */
export const buildDeliverTransition = (token: FencingToken, end: TurnEnd): Transition<AgentState> => ({
  rules: [requireActive(token), requireRunning],
  change: buildTurnEndChange(token, end),
});

/** Somebody no longer wants the turn, whatever it is doing. */
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

/** `→ idle`. How it ended stays until the next one has. */
const buildTurnEndChange = ({ turn, epoch }: FencingToken, end: TurnEnd, toolCall?: string): Change => ({
  set: { state: 'idle', last: { ...end, turn, epoch, toolCall } },
  unset: ACTIVE_FIELDS,
});

/** The worker is taken for dead: whatever it still sends is stale, because the epoch has risen. */
export const buildReapChange = (token: FencingToken, now: number, why: string): Change => {
  const end: TurnEnd = { status: 'failed', at: now, error: why, errorCode: 'reaped' };
  return { ...buildTurnEndChange(token, end), add: { epoch: 1 } };
};

/** The report that is written for a tool which did not answer in time. */
export const buildTimeoutReport = (card: string, now: number, trace: Trace): ToolReport => ({
  type: 'timeout',
  status: 'timeout' satisfies TurnResult,
  afterExecution: 'suspend',
  card,
  at: now,
  ...trace,
});
