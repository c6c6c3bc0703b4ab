import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { getTask, isInProgress } from './get-task.ts';
import { encodeTask } from './task-view.ts';

/** Undefined after `waitMs`. */
export const awaitOutcome = async (
  deps: Deps,
  caller: Caller,
  { taskId, dialect }: { taskId: string; dialect: string },
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<JsonObject | undefined> => {
  const { task } = await getTask(deps, caller, taskId, waitMs, signal);
  return isInProgress(task) ? undefined : encodeTask(deps, task, dialect);
};
