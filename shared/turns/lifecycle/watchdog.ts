import type { Deps } from '../../identity/deps.ts';
import { type AgentState, agentStateRef, computeExecutionStatus } from '../../model/agent-state.ts';
import { type Turn, turnRef } from '../../model/turn.ts';
import { equals } from '../../ports/conditions.ts';
import { listIdleMembers } from '../wakeups/wakeups.ts';
import { createToolResultCard } from './result-cards.ts';
import { stopTurn } from './stop-turn.ts';
import { buildAgentStateTimerChange, listOverdueCalls } from './timeouts.ts';

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
