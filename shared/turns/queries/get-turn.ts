import { type Caller, getCallerName } from '../../identity/auth/authenticate.ts';
import { canUseChannel } from '../../identity/channels.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { type AgentState, agentStateRef } from '../../model/agent-state.ts';
import { type Task, taskRef } from '../../model/task.ts';
import { MAX_STORED_STEPS, type StoredStep, type Turn, turnRef } from '../../model/turn.ts';
import { waitUntil } from '../../storage/wait-until.ts';
import { encodeTask } from '../../tasks/queries/task-view.ts';
import { encodeTurnEnd } from '../lifecycle/turn-end-event.ts';

/** Access follows the channel. */
export const getTurn = async (deps: Deps, caller: Caller, id: string): Promise<Turn> => {
  const turn = await deps.records.get(turnRef(caller.project, id));
  if (turn && canUseChannel(caller, turn.channel)) return turn;
  throw new ParleyError('turn_not_found', `There is no turn ${id.slice(0, 64)}.`);
};

/** Only its requester, its agent or an administrator. */
export const getStoppableTurn = async (deps: Deps, caller: Caller, id: string): Promise<Turn> => {
  const turn = await getTurn(deps, caller, id);
  if (caller.role === 'admin' || [turn.from, turn.agent].includes(caller.registered.agent.id)) return turn;
  throw new ParleyError(
    'forbidden',
    `Only ${turn.from}, who asked for the turn, ${turn.agent} or an admin key may stop it.`,
  );
};

/** A turn with its agent state, or with its task if the agent has another dialect. */
export interface TurnDetails {
  turn: Turn;
  head?: AgentState;
  steps: StoredStep[];
  task?: Task;
}

export const getTurnDetails = async (deps: Deps, caller: Caller, id: string): Promise<TurnDetails> => {
  const turn = await getTurn(deps, caller, id);
  const { project } = turn;
  if (turn.isRunAsTask) return { turn, steps: [], task: await deps.records.get(taskRef(project, id)) };
  const [head, steps] = await Promise.all([
    turn.isForGroup ? undefined : deps.records.get(agentStateRef(project, turn.agent)),
    deps.records.query<StoredStep>({ pk: turn.pk, prefix: 'step#', limit: MAX_STORED_STEPS }),
  ]);
  return { turn, head, steps };
};

/** Everybody sees that an agent is busy. The turn is visible to its channel and to the agent. */
export const getAgentState = async (
  deps: Deps,
  caller: Caller,
  agent: string,
): Promise<{ head?: AgentState; isTurnVisible: boolean }> => {
  const head = await deps.records.get(agentStateRef(caller.project, agent));
  return { head, isTurnVisible: !head || canReadAgentState(caller, head) };
};

export const canReadAgentState = (caller: Caller, { agent, active }: AgentState): boolean =>
  active === undefined || canUseChannel(caller, active.channel) || getCallerName(caller) === agent;

/** The end event, or the question of the task; undefined after the wait. */
export const waitForTurnOutcome = (
  deps: Deps,
  caller: Caller,
  id: string,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<JsonObject | undefined> => {
  const keys = [turnRef(caller.project, id).pk, taskRef(caller.project, id).pk];
  const read = (): Promise<JsonObject | undefined> => findTurnOutcome(deps, caller, id);
  return waitUntil(deps, keys, { waitMs, signal }, read, (outcome) => outcome !== undefined);
};

const findTurnOutcome = async (deps: Deps, caller: Caller, id: string): Promise<JsonObject | undefined> => {
  const turn = await getTurn(deps, caller, id);
  if (turn.end) {
    const { subject, headers, payload } = encodeTurnEnd(turn, turn.end).data;
    return { subject, headers, payload };
  }
  const task = turn.isRunAsTask && (await deps.records.get(taskRef(turn.project, id)));
  return task && task.status === 'input_required' ? encodeTask(deps, task, task.dialect) : undefined;
};
