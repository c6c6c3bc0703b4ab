import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { taskRef } from '../../model/task.ts';
import { turnRef } from '../../model/turn.ts';
import { waitUntil } from '../../storage/wait-until.ts';
import { encodeTask } from '../../tasks/queries/task-view.ts';
import { encodeTurnEnd } from '../lifecycle/turn-end-event.ts';
import { getTurn } from './get-turn.ts';

/** How a turn ended, as its task event, or what its agent asks where that was handed it as a task; undefined if neither comes in time. */
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
