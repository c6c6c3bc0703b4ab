import { encodeTaskEvent, isEndEvent } from '../../../adapters/a2a/stream-response.ts';
import { loadA2aTask } from '../../../adapters/a2a/task-view.ts';
import { getContextId } from '../../../dialects/a2a/encode.ts';
import { toTaskState } from '../../../dialects/a2a/states.ts';
import { followSegments } from '../../../events/follow-segments.ts';
import type { JsonObject } from '../../../kernel/json/json.ts';
import { isOpen, type Task } from '../../../model/task.ts';
import { type A2aCall, findTask } from './call.ts';
import { A2aError } from './errors.ts';
import { acceptMessage } from './send.ts';

/** A `StreamResponse`, or a sign of life. */
export type StreamPiece = JsonObject | 'quiet';

const READ_LIMIT = 500;

export const streamMessage = async (call: A2aCall, params: JsonObject): Promise<AsyncIterable<StreamPiece>> => {
  const signal = call.longPoll.startStream();
  const { taskId, request } = await acceptMessage(call, params);
  return await followTask(call, taskId, signal, request.configuration?.historyLength);
};

export const subscribeToTask = async (call: A2aCall, id: string): Promise<AsyncIterable<StreamPiece>> => {
  const signal = call.longPoll.startStream();
  const { task } = await findTask(call, id);
  if (!isOpen(task)) {
    const message = `The task ${id} has ended: ${toTaskState(task)}. GetTask has all of it.`;
    throw new A2aError('UNSUPPORTED_OPERATION', message, { taskId: id });
  }
  return await followTask(call, id, signal);
};

/** What comes after the snapshot has a higher version than it, so that nothing is missed and nothing told twice. */
const followTask = async (
  call: A2aCall,
  id: string,
  signal: AbortSignal,
  historyLength?: number,
): Promise<AsyncIterable<StreamPiece>> => {
  const { deps, caller } = call;
  const cursor = await deps.events.getEnd(caller.project);
  const { task, entries } = await findTask(call, id);
  const snapshot = await loadA2aTask(deps, task, entries, { historyLength });
  return streamTask(call, task, snapshot, cursor, signal);
};

async function* streamTask(
  { deps, caller }: A2aCall,
  task: Task,
  snapshot: JsonObject,
  cursor: string,
  signal: AbortSignal,
): AsyncGenerator<StreamPiece> {
  yield { task: snapshot };
  if (!isOpen(task) || isQuestion(task)) return;
  const about = { project: task.project, id: task.id, contextId: getContextId(task) };
  const told = new Set<string>();
  for await (const found of followSegments(deps, caller, cursor, { limit: READ_LIMIT }, signal)) {
    if (found === 'quiet') {
      yield found;
      continue;
    }
    for (const event of found.segment.listTaskEvents(task.id)) {
      if (parseVersion(event.id, task.id) <= task.v || told.has(event.id)) continue;
      told.add(event.id);
      for (const piece of await encodeTaskEvent(deps, about, event)) yield piece;
      if (isEndEvent(event) || (event.type === 'task.input_required' && event.data.kind !== 'auth')) return;
    }
  }
}

/** A stream ends with a question, and goes on while a credential is fetched. */
const isQuestion = ({ status, prompt }: Task): boolean => status === 'input_required' && prompt?.kind !== 'auth';

/** `<task>:<version>:<type>` */
const parseVersion = (eventId: string, taskId: string): number => Number.parseInt(eventId.slice(taskId.length + 1), 10);
