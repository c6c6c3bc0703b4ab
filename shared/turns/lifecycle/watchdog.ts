import type { Deps } from '../../identity/deps.ts';
import { deriveChildSpan } from '../../kernel/trace.ts';
import {
  type ActiveTurn,
  type AgentState,
  agentStateRef,
  computeExecutionStatus,
  getOwn,
  type ToolCallStatus,
} from '../../model/agent-state.ts';
import { type Turn, turnRef } from '../../model/turn.ts';
import { type Change, equals } from '../../ports/conditions.ts';
import { listIdleMembers } from '../wakeups/wakeups.ts';
import { createToolResultCard } from './result-cards.ts';
import { stopTurn } from './stop-turn.ts';
import { buildReapChange, buildTimeoutReport, type TurnTransitionContext } from './transitions.ts';

const TIMEOUT_RESULT = {
  status: 'timeout',
  afterExecution: 'suspend',
  error: { code: 'tool_timeout', message: 'The tool did not report in time.' },
} as const;

/** Repeats wake-ups, writes timeout reports, and ends turns without a worker. */
export const onAgentStateTimer = async (deps: Deps, head: AgentState): Promise<void> => {
  const { project, agent } = head;
  const now = deps.clock.now();
  const late = listOverdueCalls(head, now);
  const card = late.length > 0 ? await createToolResultCard(deps, project, TIMEOUT_RESULT) : '';
  const change = buildAgentStateTimerChange(head, { now, limits: deps.config.turns }, card);
  await deps.records.update(agentStateRef(project, agent), change, deps.newId());
};

const MAX_WAKEUP_INTERVAL_MS = 5 * 60_000;

/** A turn that nobody leased, though its agent is idle: the wake-up may be lost. The pauses grow. */
export const onTurnTimer = async (deps: Deps, turn: Turn): Promise<void> => {
  const ref = turnRef(turn.project, turn.id);
  const isUnmoved = equals('v', turn.v);
  if (turn.state !== 'queued') {
    await deps.records.update(ref, { if: isUnmoved, unset: ['due'] }, deps.newId());
    return;
  }
  if (deps.clock.now() - turn.createdAt >= deps.config.turns.retentionMs) {
    await stopTurn(deps, turn, 0, 'Nobody leased the turn for too long.');
    return;
  }
  const pauseMs = Math.min(deps.config.turns.wakeupMs * 2 ** (turn.wakeupCount + 1), MAX_WAKEUP_INTERVAL_MS);
  const set = { due: deps.clock.now() + pauseMs };
  const isFree = await hasIdleAgent(deps, turn);
  await deps.records.update(ref, { if: isUnmoved, set, ...(isFree && { add: { wakeupCount: 1 } }) }, deps.newId());
};

const hasIdleAgent = async (deps: Deps, { project, agent, isForGroup, channel }: Turn): Promise<boolean> =>
  isForGroup
    ? (await listIdleMembers(deps, project, agent, channel)).length > 0
    : computeExecutionStatus(await deps.records.get(agentStateRef(project, agent))) === 'idle';

/** With their deadlines. */
export const listAwaitedCalls = (head: AgentState): [toolCall: string, deadline: number][] =>
  computeExecutionStatus(head) === 'suspended'
    ? Object.entries(head.deadlines ?? {}).filter(([toolCall]) => getOwn(head.waiting, toolCall) === 'waiting')
    : [];

const listOverdueCalls = (head: AgentState, now: number): string[] =>
  listAwaitedCalls(head).flatMap(([toolCall, deadline]) => (deadline <= now ? [toolCall] : []));

/** Conditional on the version. `card` is the result of timeout reports. */
const buildAgentStateTimerChange = (head: AgentState, when: TurnTransitionContext, card: string): Change => ({
  ...computeTurnTimerChange(head, when, card),
  if: equals('v', head.v),
});

const computeTurnTimerChange = (head: AgentState, when: TurnTransitionContext, card: string): Change => {
  const { now, limits } = when;
  const { turn, active, epoch, aliveAt = 0, leasedAt = 0 } = head;
  if (turn === undefined || active === undefined) return { unset: ['due'] };
  const token = { turn, epoch };
  const state = computeExecutionStatus(head);
  if (state === 'suspended') return buildCallTimeoutChange(head, active, when, card);
  const isLeasedOnly = state === 'dispatched';
  const silentAt = isLeasedOnly ? leasedAt + limits.startTimeoutMs : aliveAt + limits.heartbeatTimeoutMs;
  if (silentAt <= now) return buildReapChange(token, now, isLeasedOnly ? NOT_STARTED_MESSAGE : WORKER_SILENT_MESSAGE);
  if (isLeasedOnly || head.state === 'suspended') return buildWakeupChange(head, silentAt, when);
  return { set: { due: silentAt } };
};

const NOT_STARTED_MESSAGE = 'The turn was leased and never started.';
const WORKER_SILENT_MESSAGE = 'Nothing was heard of the worker for too long.';

/** Nobody has resumed it: the wake-up may be lost. */
const buildWakeupChange = (
  { aliveAt = 0, lastWakeupAt = 0 }: AgentState,
  silentAt: number,
  { now, limits }: TurnTransitionContext,
): Change => {
  const wakeAt = Math.max(aliveAt, lastWakeupAt) + limits.repeatWakeupMs;
  if (wakeAt > now) return { set: { due: Math.min(wakeAt, silentAt) } };
  return { set: { lastWakeupAt: now, due: Math.min(now + limits.repeatWakeupMs, silentAt) } };
};

/** The turn resumes when no call is open. */
const buildCallTimeoutChange = (
  head: AgentState,
  active: ActiveTurn,
  { now, limits }: TurnTransitionContext,
  card: string,
): Change => {
  const late = listOverdueCalls(head, now);
  const reports = late.flatMap((toolCall): [string, unknown][] => [
    [`waiting.${toolCall}`, 'expired' satisfies ToolCallStatus],
    [`reports.${toolCall}`, buildTimeoutReport(card, now, deriveChildSpan(active, `${head.turn}/${toolCall}`))],
  ]);
  const left = listAwaitedCalls(head).flatMap(([, deadline]) => (deadline > now ? [deadline] : []));
  const set = { ...Object.fromEntries(reports), openCallCount: left.length };
  if (left.length === 0) return { set: { ...set, aliveAt: now, due: now + limits.repeatWakeupMs } };
  const deadline = Math.min(...left);
  return { set: { ...set, deadline, due: Math.min(deadline, now + limits.heartbeatTimeoutMs / 2) } };
};
