import { above, type Change, type Condition } from '../ports/conditions.ts';
import type { Rule, Transition } from '../tasks/rules.ts';
import type { Trace } from '../trace.ts';
import type { Active, Ending, Head, Step, ToolReport, TurnEnd, WaitState } from './head.ts';
import {
  atDepth,
  dispatched,
  type Gate,
  gated,
  newCalls,
  ofChannel,
  onChannel,
  running,
  takenUp,
  waitsFor,
} from './rules.ts';

export interface TurnLimits {
  wakeAgainMs: number;
  dispatchedMs: number;
  runningMs: number;
  resumeMs: number;
}

/** When something is done to a head, and under which limits. */
export interface When {
  now: number;
  limits: TurnLimits;
}

/** What a head forgets with a turn. */
const ACTIVE = [
  'turn',
  'active',
  'leaseId',
  'leasedAt',
  'aliveAt',
  'rungAt',
  'step',
  'steps',
  'waiting',
  'waitingSteps',
  'calls',
  'called',
  'reports',
  'open',
  'deadlines',
  'deadline',
  'due',
];

/** `idle → dispatched`, under the next epoch. */
export const leased = (
  epoch: number,
  turn: string,
  active: Active,
  leaseId: string | undefined,
  { now, limits }: When,
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
    calls: 0,
    due: now + Math.min(limits.wakeAgainMs, limits.dispatchedMs),
  },
});

/** `dispatched → running`. `due` stays: it comes early, and is then set anew. */
export const start = (gate: Gate, { now }: When): Transition<Head> => ({
  rules: [gated(gate), dispatched],
  change: { set: { state: 'running', aliveAt: now } },
});

export const step = (gate: Gate, done: Step): Transition<Head> => ({
  rules: [gated(gate), takenUp],
  change: { set: { step: done, aliveAt: done.at }, add: { steps: 1 } },
});

export interface Awaited {
  toolCall: string;
  step: string;
}

/** `running → suspended` until every tool has reported. Calls stay known until the turn ends, so that each is waited for once. */
export const suspend = (
  gate: Gate,
  calls: Awaited[],
  waitMs: number | undefined,
  { now, limits }: When,
): Transition<Head> => {
  const deadline = now + (waitMs ?? limits.resumeMs);
  return {
    rules: [gated(gate), takenUp, ...newCalls(calls.map(({ toolCall }) => toolCall))],
    change: {
      set: {
        ...Object.fromEntries(calls.map(({ toolCall }) => [`waiting.${toolCall}`, 'waiting' satisfies WaitState])),
        ...Object.fromEntries(calls.map(({ toolCall, step: id }) => [`waitingSteps.${toolCall}`, id])),
        state: 'suspended',
        called: {},
        reports: {},
        open: calls.length,
        deadlines: Object.fromEntries(calls.map(({ toolCall }) => [toolCall, deadline])),
        deadline,
        aliveAt: now,
        due: Math.min(deadline, now + limits.runningMs / 2),
      },
      add: { calls: calls.length },
    },
  };
};

/** The worker takes up a turn whose tools have all reported. */
export const resume = (gate: Gate, leaseId: string | undefined, { now }: When): Transition<Head> => ({
  rules: [gated(gate), resumable],
  change: {
    set: { state: 'running', aliveAt: now, leaseId },
    // Whoever leased it before has it no longer.
    ...(leaseId === undefined && { unset: ['leaseId'] }),
  },
});

const resumable: Rule<Head> = {
  ...running,
  holds: {
    all: [
      { field: 'state', is: 'suspended' },
      { field: 'open', is: 0 },
    ],
  },
};

/** What a report must agree with. */
export interface Claims {
  depth: number;
  /** The one that its subject names, where it came under one. */
  channel?: string;
  /** Those that the sender may use; undefined for every one. */
  channels?: readonly string[];
}

/** A tool has reported: one less to wait for, or the end of the turn, as the tool wants it. */
export const report = (
  gate: Gate,
  toolCall: string,
  { depth, channel, channels }: Claims,
  said: ToolReport,
  { now, limits }: When,
): Transition<Head> => {
  const rules = [gated(gate), atDepth(depth), ...onChannel(channels), ...ofChannel(channel), waitsFor(toolCall)];
  if (said.afterExecution === 'terminate') {
    const end = { status: said.status, at: now, deliverable: said.card, toolResultCard: said.card };
    return { rules, change: ended(gate, end, toolCall) };
  }
  return {
    rules,
    change: {
      set: {
        [`waiting.${toolCall}`]: 'received',
        [`reports.${toolCall}`]: said,
        aliveAt: now,
        due: now + limits.wakeAgainMs,
      },
      add: { open: -1 },
    },
  };
};

/** Without a look at the head, only where the deadline is not sooner than the next look that the report asks for. */
export const notNearDeadline = ({ now, limits }: When): Condition => above('deadline', now + limits.wakeAgainMs);

/** The same where the deadline has been seen. */
export const beforeDeadline = (transition: Transition<Head>, deadline = Infinity): Transition<Head> => {
  const { due } = transition.change.set ?? {};
  if (typeof due !== 'number') return transition;
  return {
    ...transition,
    change: { ...transition.change, set: { ...transition.change.set, due: Math.min(due, deadline) } },
  };
};

/** The worker has done what it was asked. */
export const deliver = (gate: Gate, end: TurnEnd): Transition<Head> => ({
  rules: [gated(gate), running],
  change: ended(gate, end),
});

/** Somebody no longer wants the turn, whatever it is doing. */
export const stop = (gate: Gate, end: TurnEnd, mayKnow: (head: Head) => boolean): Transition<Head> => ({
  rules: [gated(gate, mayKnow)],
  change: ended(gate, end),
});

export const canceled = (now: number, reason: string | undefined): TurnEnd => ({
  status: 'canceled',
  at: now,
  error: reason ?? 'The turn was stopped.',
  errorCode: 'stopped',
});

/** `→ idle`. How it ended stays until the next one has. */
export const ended = ({ turn, epoch }: Gate, end: TurnEnd, toolCall?: string): Change => ({
  set: { state: 'idle', last: { ...end, turn, epoch, toolCall } },
  unset: ACTIVE,
});

/** The worker is taken for dead: whatever it still sends is stale, because the epoch has risen. */
export const reaped = (gate: Gate, now: number, why: string): Change => {
  const end: TurnEnd = { status: 'failed', at: now, error: why, errorCode: 'reaped' };
  return { ...ended(gate, end), add: { epoch: 1 } };
};

/** The report that is written for a tool which did not answer in time. */
export const timeoutReport = (card: string, now: number, trace: Trace): ToolReport => ({
  type: 'timeout',
  status: 'timeout' satisfies Ending,
  afterExecution: 'suspend',
  card,
  at: now,
  ...trace,
});
