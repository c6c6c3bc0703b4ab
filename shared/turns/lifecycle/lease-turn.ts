import { getDialect } from '../../dialects/registry.ts';
import type { RegisteredAgent } from '../../identity/agents/agent.ts';
import { type AgentPause, getActivePause } from '../../identity/agents/agent-control.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import {
  type AgentState,
  agentStateRef,
  agentTurnsPk,
  buildAgentStateWrite,
  computeExecutionStatus,
  isAgentState,
} from '../../model/agent-state.ts';
import {
  isQueuedTurn,
  pickActiveTurn,
  type QueuedTurn,
  type Turn,
  type TurnRequest,
  turnRef,
} from '../../model/turn.ts';
import { exists } from '../../ports/conditions.ts';
import type { Item, TransactionWrite, Watcher } from '../../ports/records.ts';
import { waitForAnyChange } from '../../storage/wait-until.ts';
import { toConditionalUpdate } from '../../tasks/transitions/rules.ts';
import { leaseTaskAsTurn } from '../task-bridge/task-as-turn.ts';
import { findOldestGroupTurn, listGroupQueues } from './group-queues.ts';
import { buildLeaseChange, buildResumeTransition, toTurnTransitionContext } from './transitions.ts';

export interface TurnLease {
  turn: string;
  epoch: number;
  /** The request, or the state after the tools have reported. */
  work: { request: TurnRequest } | { resumed: AgentState };
}

interface TurnLeaseOptions {
  waitMs: number;
  signal?: AbortSignal;
  /** Chosen by the worker: a repetition returns the same turn. */
  leaseId?: string;
}

/** The next turn, or the suspended one that can resume. Undefined after the wait. */
export const leaseTurn = async (
  deps: Deps,
  registered: RegisteredAgent,
  options: TurnLeaseOptions,
): Promise<TurnLease | undefined> => {
  const { agent } = registered;
  if (!getDialect(agent.dialect).usesTurns) {
    throw new ParleyError(
      'not_eligible',
      `The agent ${agent.id} speaks ${agent.dialect}, and so gets tasks (POST /v1/claims), not turns.`,
    );
  }
  const until = deps.clock.now() + options.waitMs;
  const queues = [agent.id, ...listGroupQueues(agent)];
  const watchers =
    options.waitMs > 0 ? queues.map((name) => deps.records.watch(agentTurnsPk(agent.project, name))) : [];
  try {
    for (;;) {
      if (options.signal?.aborted) return undefined;
      const pause = await findPause(deps, registered);
      const found = await tryLease(deps, registered, options.leaseId, pause !== undefined);
      // It has nothing to wait for.
      if (pause?.action === 'drain' && typeof found !== 'object') return undefined;
      const left = Math.max(0, until - deps.clock.now());
      const isOver = left === 0 || options.signal?.aborted === true;
      if (typeof found === 'object' || (found === 'busy' && isOver))
        return typeof found === 'object' ? found : undefined;
      const task = await waitForChangeOrTask(deps, registered, watchers, found === 'busy', {
        ...options,
        waitMs: left,
      });
      if (task || isOver) return task;
    }
  } finally {
    for (const watcher of watchers) watcher.close();
  }
};

/** Waits for a turn and, unless the agent is busy, for a task. The first one ends the other wait. */
const waitForChangeOrTask = async (
  deps: Deps,
  registered: RegisteredAgent,
  watchers: Watcher[],
  isBusy: boolean,
  { waitMs, signal, leaseId }: TurnLeaseOptions,
): Promise<TurnLease | undefined> => {
  const over = new AbortController();
  const either = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
  const changed = watchers.length > 0 ? waitForAnyChange(watchers, waitMs, either) : undefined;
  const claimed = isBusy
    ? undefined
    : leaseTaskAsTurn(deps, registered, { waitMs, signal: waitMs > 0 ? either : undefined, leaseId });
  try {
    if (claimed && changed) await Promise.race([claimed, changed]);
    else await changed;
  } finally {
    over.abort();
  }
  return claimed;
};

const findPause = async (deps: Deps, { agent }: RegisteredAgent): Promise<AgentPause | undefined> => {
  const registered = await deps.directory.getAgent(agent.project, agent.id);
  return registered && getActivePause(registered, deps.clock.now());
};

/** Other workers of the agent may be faster. */
const MAX_LEASE_ATTEMPTS = 3;

const tryLease = async (
  deps: Deps,
  registered: RegisteredAgent,
  leaseId: string | undefined,
  isPaused: boolean,
): Promise<TurnLease | 'busy' | undefined> => {
  const { project, id } = registered.agent;
  for (let tries = 0; tries < MAX_LEASE_ATTEMPTS; tries++) {
    // The state sorts before queued turns.
    const found = await deps.records.query<Item>({ pk: agentTurnsPk(project, id), limit: 2 });
    const head = found.find(isAgentState);
    if (isPaused && (head === undefined || head.state === 'idle')) return undefined;
    const taken =
      head && head.state !== 'idle'
        ? await resumeOrRepeatLease(deps, head, leaseId)
        : await leaseQueuedTurn(deps, registered, head, found.find(isQueuedTurn), leaseId);
    if (taken !== 'lost') return taken;
  }
  return undefined;
};

const leaseQueuedTurn = async (
  deps: Deps,
  { agent }: RegisteredAgent,
  head: AgentState | undefined,
  own: QueuedTurn | undefined,
  leaseId: string | undefined,
): Promise<TurnLease | 'lost' | undefined> => {
  const queued = own ?? (await findOldestGroupTurn(deps, agent));
  if (!queued) return undefined;
  const { project, id } = agent;
  const { pk, sk, turn } = queued;
  const epoch = (head?.epoch ?? 0) + 1;
  const change = buildLeaseChange(epoch, turn, pickActiveTurn(queued), leaseId, toTurnTransitionContext(deps));
  const writes: TransactionWrite[] = [
    buildAgentStateWrite(agentStateRef(project, id), head, { project, agent: id }, change.set ?? {}),
  ];
  writes.push({ kind: 'remove', key: { pk, sk }, if: exists('turn') });
  const done = await deps.records.transact(writes, deps.newId());
  return done.outcome === 'written' ? { turn, epoch, work: { request: queued } } : 'lost';
};

/** A turn that can resume goes to any worker. A repeated lease returns the same turn. */
const resumeOrRepeatLease = async (
  deps: Deps,
  head: AgentState,
  leaseId: string | undefined,
): Promise<TurnLease | 'busy' | 'lost'> => {
  const { project, agent, turn, epoch } = head;
  if (turn === undefined) return 'busy';
  const isMine = leaseId !== undefined && head.leaseId === leaseId;
  if (head.state === 'suspended' && computeExecutionStatus(head) === 'running') {
    const change = toConditionalUpdate(buildResumeTransition({ turn, epoch }, leaseId, toTurnTransitionContext(deps)));
    const done = await deps.records.update(agentStateRef(project, agent), change, deps.newId());
    return done.outcome === 'written' ? toResumedLease(head, turn) : 'lost';
  }
  if (!isMine || head.state === 'suspended') return 'busy';
  return Object.keys(head.reports ?? {}).length > 0 ? toResumedLease(head, turn) : loadExistingLease(deps, head, turn);
};

const toResumedLease = (head: AgentState, turn: string): TurnLease => ({
  turn,
  epoch: head.epoch,
  work: { resumed: head },
});

const loadExistingLease = async (
  deps: Deps,
  { project, epoch }: AgentState,
  id: string,
): Promise<TurnLease | 'busy'> => {
  const turn = await deps.records.get<Turn>(turnRef(project, id));
  return turn ? { turn: id, epoch, work: { request: turn } } : 'busy';
};
