import { type Caller, nameOf } from '../agents/authenticate.ts';
import { mayUse } from '../agents/channels.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { JsonObject } from '../json/json.ts';
import { taskRef } from '../tasks/task.ts';
import { type Head, headRef } from './head.ts';
import { type KeptStep, STEPS_KEPT, type Turn, turnRef } from './turn.ts';
import { headView, turnView } from './turn-view.ts';

/** A turn is seen by whoever may use its channel. */
export const findTurn = async (deps: Deps, caller: Caller, id: string): Promise<Turn> => {
  const turn = await deps.records.get(turnRef(caller.project, id));
  if (turn && mayUse(caller, turn.channel)) return turn;
  throw new ParleyError('turn_not_found', `There is no turn ${id.slice(0, 64)}.`);
};

/** Only who asked for it, whose turn it is, and an administrator may end it before its time. */
export const stoppable = async (deps: Deps, caller: Caller, id: string): Promise<Turn> => {
  const turn = await findTurn(deps, caller, id);
  if (caller.role === 'admin' || [turn.from, turn.agent].includes(caller.known.agent.id)) return turn;
  throw new ParleyError(
    'forbidden',
    `Only ${turn.from}, who asked for the turn, ${turn.agent} or an admin key may stop it.`,
  );
};

export const showTurn = async (deps: Deps, caller: Caller, id: string): Promise<JsonObject> => {
  const turn = await findTurn(deps, caller, id);
  const { project } = turn;
  if (turn.isTask) return turnView(turn, undefined, [], await deps.records.get(taskRef(project, id)));
  const [head, steps] = await Promise.all([
    turn.isForGroup ? undefined : deps.records.get(headRef(project, turn.agent)),
    deps.records.query<KeptStep>({ p: turn.pk, prefix: 'step#', limit: STEPS_KEPT }),
  ]);
  return turnView(turn, head, steps);
};

/** That an agent is busy, everybody may know; with which turn, those who may see the turn, and the agent itself. */
export const showHead = async (deps: Deps, caller: Caller, agent: string): Promise<JsonObject> => {
  const head = await deps.records.get(headRef(caller.project, agent));
  return headView(agent, head, !head || mayKnow(caller, head));
};

export const mayKnow = (caller: Caller, { agent, active }: Head): boolean =>
  active === undefined || mayUse(caller, active.channel) || nameOf(caller) === agent;
