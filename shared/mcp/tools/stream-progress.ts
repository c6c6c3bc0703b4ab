import type { JsonObject } from '../../kernel/json/json.ts';
import { buildNotification } from '../answer.ts';
import { fetchTask, isSettled, type ShownTask } from '../api.ts';
import type { McpContext } from '../context.ts';

/** How often progress is looked at; an end or a question is noticed at once. */
const LOOK_SECONDS = 1;
/** A client that still waits then may ask again with the id. */
const MAX_LOOKS = 3600;
/** A sign of life, so that a client's timeout begins anew. */
const LOOKS_PER_SIGN = 10;

/** Tells how far a task is until it ends or asks something. */
export async function* streamProgress(
  { api, startWait }: McpContext,
  id: string,
  progressToken: string | number,
  answer: (task: ShownTask) => Promise<JsonObject>,
): AsyncGenerator<JsonObject, JsonObject> {
  const signal = startWait();
  let [task, lastTold, progress] = [await fetchTask(api, id, LOOK_SECONDS), '', 0];
  for (let look = 1; !isSettled(task) && look < MAX_LOOKS && !signal?.aborted; look++) {
    const { percent, message = task.state } = task.progress ?? {};
    const told = `${percent} ${message}`;
    if (told !== lastTold || look % LOOKS_PER_SIGN === 0) {
      // It must rise with each notification, whatever the agent says.
      progress = Math.max(percent ?? 0, progress + 0.001);
      yield buildNotification('notifications/progress', { progressToken, progress, total: 100, message });
      lastTold = told;
    }
    task = await fetchTask(api, id, LOOK_SECONDS);
  }
  return answer(task);
}
