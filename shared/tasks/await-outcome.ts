import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import type { JsonObject } from '../json/json.ts';
import { isUnderWay, lookUp } from './look-up.ts';
import { inDialect } from './task-view.ts';

/** How the task ended, or what its holder asks, as a message in the dialect, if that comes in time. */
export const awaitOutcome = async (
  deps: Deps,
  caller: Caller,
  { taskId, dialect }: { taskId: string; dialect: string },
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<JsonObject | undefined> => {
  const { task } = await lookUp(deps, caller, taskId, waitMs, signal);
  return isUnderWay(task) ? undefined : inDialect(deps, task, dialect);
};
