import * as z from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../kernel/json/json.ts';
import { buildNotification } from './answer.ts';
import { ApiProblem, fetchTask } from './api.ts';
import type { McpContext } from './context.ts';
import { SUBSCRIPTION_ID } from './mcp-call.ts';
import { toDetailedMcpTask } from './mcp-task.ts';
import { invalidParamsError } from './rpc-error.ts';
import { readSseData } from './sse.ts';
import { buildTaskUri } from './tools/content.ts';

const MAX_SUBSCRIPTIONS = 100;
const ids = z.array(z.string().max(300)).max(MAX_SUBSCRIPTIONS);
const ListenParams = z.looseObject({
  notifications: z.looseObject({ resourceSubscriptions: ids.optional(), taskIds: ids.optional() }),
});

/** Events that change what a task shows; messages of an inbox have no event for each. */
const TYPES = ['task.*'];

/** Tells what becomes of tasks, as resources and as tasks, until the client leaves. */
export const listen = (context: McpContext): AsyncGenerator<JsonObject, JsonObject> => {
  const { success, data } = ListenParams.safeParse(context.call.params);
  if (!success) {
    throw invalidParamsError(`notifications must be an object, with at most ${MAX_SUBSCRIPTIONS} entries a list.`);
  }
  return followTasks(context, data.notifications);
};

async function* followTasks(
  context: McpContext,
  { resourceSubscriptions, taskIds }: z.output<typeof ListenParams>['notifications'],
): AsyncGenerator<JsonObject, JsonObject> {
  const { call } = context;
  const uris = resourceSubscriptions?.filter((uri) => uri.startsWith('parley://tasks/'));
  const honoured: JsonObject = {
    ...(uris && { resourceSubscriptions: uris }),
    ...(taskIds && call.canFollowTasks && { taskIds }),
  };
  const _meta = { [SUBSCRIPTION_ID]: call.id };
  const events = context.streamEvents(TYPES);
  // It begins where the log ends now: what happens after the acknowledgement is told.
  await events.next();
  yield buildNotification('notifications/subscriptions/acknowledged', { _meta, notifications: honoured });
  for await (const piece of events) {
    for (const taskId of listChangedTasks(piece)) {
      const uri = buildTaskUri(taskId);
      if (uris?.includes(uri)) yield buildNotification('notifications/resources/updated', { _meta, uri });
      if (!call.canFollowTasks || !taskIds?.includes(taskId)) continue;
      const task = await loadTask(context, taskId);
      if (task) yield buildNotification('notifications/tasks', { _meta, ...task });
    }
  }
  return { _meta };
}

const listChangedTasks = (piece: string): Set<string> => {
  const found = readSseData(piece).flatMap(({ data }) => (isJsonObject(data) ? [readTaskId(data)] : []));
  return new Set(found.filter((id): id is string => typeof id === 'string'));
};

const readTaskId = ({ taskId }: JsonObject): Json | undefined => taskId;

const loadTask = async (context: McpContext, id: string): Promise<JsonObject | undefined> => {
  try {
    return toDetailedMcpTask(await fetchTask(context.api, id), context);
  } catch (error) {
    if (error instanceof ApiProblem) return undefined;
    throw error;
  }
};
