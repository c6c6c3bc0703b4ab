import { buildParts } from '../../dialects/a2a/content.ts';
import { A2A } from '../../dialects/a2a/decode.ts';
import { encodeRequestMessage, getContextId } from '../../dialects/a2a/encode.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import type { Json, JsonObject } from '../../kernel/json/json.ts';
import { buildTimeline, type HistoryEntry, type TimelineEntry } from '../../model/history.ts';
import type { Task } from '../../model/task.ts';

/** What requester and holder said, oldest first. Each message has the same id whenever it is read. */
export const buildMessageHistory = (task: Task, entries: HistoryEntry[], input: Json): JsonObject[] => [
  encodeRequestMessage(task, input),
  ...buildTimeline(task, entries).flatMap((line) => toMessages(task, line)),
];

const toMessages = (task: Task, { event, at, attempt, message, answer }: TimelineEntry): JsonObject[] => {
  const said = event === 'input_given' ? answer : message;
  if (said === undefined || !SPOKEN_EVENTS.has(event)) return [];
  const spoken = {
    messageId: uuidFromSeed([A2A, 'said', task.id, event, at, attempt ?? 0]),
    contextId: getContextId(task),
    taskId: task.id,
    role: event === 'input_given' ? 'ROLE_USER' : 'ROLE_AGENT',
    parts: buildParts(said),
  };
  return [spoken];
};

const SPOKEN_EVENTS: ReadonlySet<string> = new Set(['progress', 'input_required', 'input_given']);
