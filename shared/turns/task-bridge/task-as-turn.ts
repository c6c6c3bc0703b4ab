import { offloadForDialect } from '../../cards/offload-content.ts';
import { getDialect } from '../../dialects/registry.ts';
import { turnProtocol } from '../../dialects/turn-protocol.ts';
import type { Agent, RegisteredAgent } from '../../identity/agents/agent.ts';
import type { Deps } from '../../identity/deps.ts';
import { PUBLIC_CHANNEL, toVisibleAsciiId } from '../../kernel/ids.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { pickTraceFields } from '../../kernel/trace.ts';
import { type AgentState, agentStateRef, buildAgentStateWrite } from '../../model/agent-state.ts';
import { type Task, taskRef } from '../../model/task.ts';
import { getToolCall, listWaitingAgents } from '../../model/tool-call.ts';
import { pickActiveTurn, type Turn, toTaskTurnId, turnRef } from '../../model/turn.ts';
import { equals } from '../../ports/conditions.ts';
import type { NewItem } from '../../ports/records.ts';
import { loadContent } from '../../storage/content.ts';
import { claimTasks } from '../../tasks/commands/claim-tasks.ts';
import { enqueueEagerly } from '../../tasks/commands/enqueue-task.ts';
import { loadDependencyResults } from '../../tasks/dependencies/dependency-results.ts';
import { buildReleaseChange, toTransitionContext } from '../../tasks/transitions/end-and-requeue.ts';
import type { TurnLease } from '../lifecycle/lease-turn.ts';
import { buildLeaseChange } from '../lifecycle/transitions.ts';

/** Undefined after the wait. */
export const leaseTaskAsTurn = async (
  deps: Deps,
  registered: RegisteredAgent,
  options: { waitMs: number; signal?: AbortSignal; leaseId?: string },
): Promise<TurnLease | undefined> => {
  const [task] = await claimTasks(deps, registered, { max: 1, waitMs: options.waitMs, signal: options.signal });
  if (!task) return undefined;
  const { project, id: agent } = registered.agent;
  const head = await deps.records.get(agentStateRef(project, agent));
  const taken =
    head === undefined || head.state === 'idle'
      ? await startTaskTurn(deps, registered, task, head, options.leaseId)
      : undefined;
  // Another worker of the agent has started a turn, and an agent has one at a time.
  if (!taken) await releaseClaim(deps, task);
  return taken;
};

const startTaskTurn = async (
  deps: Deps,
  registered: RegisteredAgent,
  task: Task,
  head: AgentState | undefined,
  leaseId: string | undefined,
): Promise<TurnLease | undefined> => {
  const { project, id: agent } = registered.agent;
  const now = deps.clock.now();
  const epoch = (head?.epoch ?? 0) + 1;
  const dialect = getDialect(registered.agent.dialect);
  const about = { project, from: task.from, type: 'task.instruction' } as const;
  const input = await offloadForDialect(deps, dialect, about, await loadContent(deps.blobs, project, task.input));
  const work = turnProtocol.encodeTask(task, input, await loadDependencyResults(deps, dialect, task));
  const turn = buildTaskTurn(deps, registered.agent, task, work, epoch);
  const active = { ...pickActiveTurn(turn), task: task.id };
  const change = buildLeaseChange(epoch, turn.id, active, leaseId, { now, limits: deps.config.turns });
  const done = await deps.records.transact(
    [
      { kind: 'create', item: { ...turn } },
      buildAgentStateWrite(agentStateRef(project, agent), head, { project, agent }, change.set ?? {}),
    ],
    deps.newId(),
  );
  return done.outcome === 'written' ? { turn: turn.id, epoch, work: { request: turn } } : undefined;
};

const buildTaskTurn = (
  deps: Deps,
  { id: agent, profile }: Agent,
  task: Task,
  payload: JsonObject,
  epoch: number,
): NewItem<Turn> => {
  const { project, from } = task;
  const link = turnProtocol.findTaskLink(task.extensions);
  const call = getToolCall(link);
  const id = toTaskTurnId(task);
  const now = deps.clock.now();
  return {
    ...turnRef(project, id),
    sk: 'turn',
    project,
    id,
    agent,
    correlation: toVisibleAsciiId(task.id),
    depth: link?.depth ?? 0,
    channel: link?.channel ?? PUBLIC_CHANNEL,
    from,
    createdAt: now,
    payload,
    headers: turnProtocol.toHeaders(task),
    ...pickTraceFields(task),
    callers: call ? listWaitingAgents(call) : task.delegationChain,
    protocolVersion: turnProtocol.resolveVersion(deps.config, link?.protocolVersion, profile),
    task: task.id,
    attempt: task.attempt,
    state: 'leased',
    epoch,
    leasedAt: now,
    wakeupCount: 0,
  };
};

/** Without spending an attempt. */
const releaseClaim = async (deps: Deps, task: Task): Promise<void> => {
  const when = toTransitionContext(deps);
  const back = buildReleaseChange(task, when);
  const done = await deps.records.update(
    taskRef(task.project, task.id),
    { ...back, if: equals('v', task.v) },
    deps.newId(),
  );
  if (done.outcome === 'written') await enqueueEagerly(deps, done);
};
