import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { taskRef } from '../../model/task.ts';
import { turnRef } from '../../model/turn.ts';
import type { Watcher } from '../../ports/records.ts';
import { encodeTask } from '../../tasks/queries/task-view.ts';
import { encodeTurnEnd } from '../lifecycle/turn-end-event.ts';
import { getTurn } from './get-turn.ts';

/** How a turn ended, as its task event, or what its agent asks where that was handed it as a task; undefined if neither comes in time. */
export const waitForTurnOutcome = async (
  deps: Deps,
  caller: Caller,
  id: string,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<JsonObject | undefined> => {
  const until = deps.clock.now() + waitMs;
  const keys = [turnRef(caller.project, id).pk, taskRef(caller.project, id).pk];
  const listeners = keys.map((pk) => deps.records.watch(pk));
  try {
    for (;;) {
      const outcome = await findTurnOutcome(deps, caller, id);
      const left = until - deps.clock.now();
      if (outcome || left <= 0 || signal?.aborted) return outcome;
      await waitForAnyChange(listeners, left, signal);
    }
  } finally {
    for (const listener of listeners) listener.close();
  }
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

/** Whichever comes first ends the waits of the others. */
const waitForAnyChange = async (listeners: Watcher[], ms: number, signal: AbortSignal | undefined): Promise<void> => {
  const over = new AbortController();
  const either = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
  try {
    await Promise.race(listeners.map((one) => one.next(ms, either)));
  } finally {
    over.abort();
  }
};
