import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import type { JsonObject } from '../json/json.ts';
import type { Listener } from '../ports/records.ts';
import { taskRef } from '../tasks/task.ts';
import { inDialect } from '../tasks/task-view.ts';
import { findTurn } from './look-up.ts';
import { taskEventOf } from './task-event.ts';
import { turnRef } from './turn.ts';

/** How a turn ended, as its task event, or what its agent asks where that was handed it as a task; undefined if neither comes in time. */
export const turnOutcome = async (
  deps: Deps,
  caller: Caller,
  id: string,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<JsonObject | undefined> => {
  const until = deps.clock.now() + waitMs;
  const keys = [turnRef(caller.project, id).pk, taskRef(caller.project, id).pk];
  const listeners = keys.map((pk) => deps.records.listen(pk));
  try {
    for (;;) {
      const outcome = await outcomeNow(deps, caller, id);
      const left = until - deps.clock.now();
      if (outcome || left <= 0 || signal?.aborted) return outcome;
      await anyHeard(listeners, left, signal);
    }
  } finally {
    for (const listener of listeners) listener.close();
  }
};

const outcomeNow = async (deps: Deps, caller: Caller, id: string): Promise<JsonObject | undefined> => {
  const turn = await findTurn(deps, caller, id);
  if (turn.end) {
    const { subject, headers, payload } = taskEventOf(turn, turn.end).data;
    return { subject, headers, payload };
  }
  const task = turn.isTask && (await deps.records.get(taskRef(turn.project, id)));
  return task && task.status === 'input_required' ? inDialect(deps, task, task.dialect) : undefined;
};

/** Whichever comes first ends the waits of the others. */
const anyHeard = async (listeners: Listener[], ms: number, signal: AbortSignal | undefined): Promise<void> => {
  const over = new AbortController();
  const either = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
  try {
    await Promise.race(listeners.map((one) => one.heard(ms, either)));
  } finally {
    over.abort();
  }
};
