import { encodeArtifact, encodeResultArtifact } from '../../dialects/a2a/content.ts';
import { A2A } from '../../dialects/a2a/decode.ts';
import { buildAgentMessage, omitIfEmpty } from '../../dialects/a2a/encode.ts';
import { toTaskState } from '../../dialects/a2a/states.ts';
import type { Deps } from '../../identity/deps.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { type Json, type JsonObject, toObjectOrEmpty } from '../../kernel/json/json.ts';
import { isOpen, TASK_STATUSES, type Task, taskRef } from '../../model/task.ts';
import { toIso } from '../../ports/clock.ts';
import type { ParleyEvent } from '../../ports/events.ts';
import { loadContent } from '../../storage/content.ts';
import { loadArtifactViews } from '../../tasks/artifacts.ts';
import { loadStatus } from './task-view.ts';

interface StreamedTask {
  project: string;
  id: string;
  contextId: string;
}

/** Of a change that says nothing new to an A2A client. */
const SILENT_TYPES: ReadonlySet<string> = new Set(['task.ready', 'task.unacknowledged', 'task.requested']);

/**
 * The `StreamResponse`s of one event of a task. They follow from the event, and its end from the record, which never changes
 * again: all readers get the same.
 */
export const encodeTaskEvent = async (
  deps: Deps,
  about: StreamedTask,
  { id, type, at, data }: ParleyEvent,
): Promise<JsonObject[]> => {
  const { status } = data;
  const known = TASK_STATUSES.find((one) => one === status);
  if (known === undefined || SILENT_TYPES.has(type)) return [];
  const names = Array.isArray(data.artifacts) ? data.artifacts : [];
  const isEnd = type !== 'task.progress' && END_TYPES.has(type);
  const task = isEnd || names.length > 0 ? await deps.records.get(taskRef(about.project, about.id)) : undefined;
  const updates = task ? await encodeArtifacts(deps, task, about, names) : [];
  if (isEnd && task && !isOpen(task)) {
    const { status: ended, metadata } = await loadStatus(deps, task);
    return [...updates, { statusUpdate: { taskId: about.id, contextId: about.contextId, status: ended, metadata } }];
  }
  const attempt = typeof data.attempt === 'number' ? data.attempt : 0;
  const prompt = type === 'task.input_required' ? { kind: data.kind } : undefined;
  const text = readText(type, data);
  const state = toTaskState({ status: known, attempt, prompt });
  const messageId = uuidFromSeed([A2A, 'event', id]);
  const conversation = about.contextId;
  const message =
    text === undefined ? undefined : buildAgentMessage({ id: about.id, conversation }, messageId, [{ text }]);
  const statusUpdate = {
    taskId: about.id,
    contextId: about.contextId,
    status: { state, message, timestamp: toIso(at) },
    metadata: omitIfEmpty({ parley: omitIfEmpty({ from: data.agent, attempt: data.attempt, percent: data.percent }) }),
  };
  return [...updates, { statusUpdate }];
};

const END_TYPES: ReadonlySet<string> = new Set(['task.completed', 'task.failed', 'task.expired', 'task.cancelled']);
export const isEndEvent = ({ type }: ParleyEvent): boolean => END_TYPES.has(type);

const readText = (type: string, { attempt, message, error }: JsonObject): string | undefined => {
  if (type === 'task.retrying') {
    const why = toObjectOrEmpty(error).message;
    return `Attempt ${attempt} failed, and the task is tried again${typeof why === 'string' ? `: ${why}` : '.'}`;
  }
  if (type === 'task.released') return 'The task waits for another attempt.';
  return typeof message === 'string' ? message : undefined;
};

/** Those that are new, and the result of a task that is completed. */
const encodeArtifacts = async (
  { blobs }: Deps,
  { project, id, artifacts, output, status }: Task,
  { contextId }: StreamedTask,
  names: Json[],
): Promise<JsonObject[]> => {
  const views = names.length > 0 ? ((await loadArtifactViews(blobs, project, id, artifacts)) ?? []) : [];
  const found = views.filter(({ name }) => names.includes(name)).map((view) => encodeArtifact(view));
  const results =
    status === 'completed' ? [encodeResultArtifact(output && (await loadContent(blobs, project, output)))] : [];
  return [...results, ...found].map((artifact) => ({
    artifactUpdate: { taskId: id, contextId, artifact, append: false, lastChunk: true },
  }));
};
