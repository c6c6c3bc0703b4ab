import type { Deps } from '../deps.ts';
import { absent } from '../ports/conditions.ts';
import type { Written } from '../ports/records.ts';
import { deliverableOf } from './deliverable.ts';
import type { TurnEnd } from './head.ts';
import { type Turn, turnRef } from './turn.ts';

/** The end of the turn's own record, and with it its one task event: one that has ended stays as it is. */
export const endTurn = async (
  deps: Deps,
  turn: Pick<Turn, 'project' | 'id' | 'agent'>,
  end: TurnEnd,
  steps?: number,
): Promise<Written<Turn>> => {
  const { project, id, agent } = turn;
  const deliverable = end.deliverable ?? (await deliverableOf(deps, turn, end));
  const set = {
    state: 'ended',
    agent,
    steps,
    end: { ...end, deliverable },
    expires: end.at + deps.config.turns.keepMs,
  };
  const change = { if: absent('end'), set, unset: ['due', 'isForGroup'] };
  return deps.records.update(turnRef(project, id), change, deps.newId());
};
