import { encodeArtifact } from '../../dialects/a2a/content.ts';
import { A2A } from '../../dialects/a2a/decode.ts';
import { buildAgentMessage, encodeReport, getContextId } from '../../dialects/a2a/encode.ts';
import { toTaskState } from '../../dialects/a2a/states.ts';
import { getStatusTime } from '../../dialects/a2a/status-time.ts';
import type { Deps } from '../../identity/deps.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { type JsonObject, toObjectOrEmpty } from '../../kernel/json/json.ts';
import type { HistoryEntry } from '../../model/history.ts';
import { countSpentAttempts, isHeld, isOpen, type Task } from '../../model/task.ts';
import { toIso } from '../../ports/clock.ts';
import { loadContent } from '../../storage/content.ts';
import { loadArtifactViews } from '../../tasks/artifacts.ts';
import { encodeTask } from '../../tasks/queries/task-view.ts';
import { buildMessageHistory } from './history.ts';

export interface TaskViewOptions {
  /** How many of the newest messages; absent for all. */
  historyLength?: number | undefined;
  hasArtifacts?: boolean;
}

/** A `Task` of A2A. */
export const loadA2aTask = async (
  deps: Deps,
  task: Task,
  entries: HistoryEntry[],
  { historyLength, hasArtifacts = true }: TaskViewOptions = {},
): Promise<JsonObject> => {
  const { status, metadata, artifacts } = await loadStatus(deps, task);
  const history = historyLength === 0 ? [] : await loadHistory(deps, task, entries);
  return {
    id: task.id,
    contextId: getContextId(task),
    status,
    artifacts: hasArtifacts ? (artifacts ?? (await loadOpenArtifacts(deps, task))) : undefined,
    history: historyLength === 0 ? undefined : history.slice(historyLength === undefined ? 0 : -historyLength),
    metadata,
  };
};

const loadHistory = async (deps: Deps, task: Task, entries: HistoryEntry[]): Promise<JsonObject[]> =>
  buildMessageHistory(task, entries, await loadContent(deps.blobs, task.project, task.input));

const loadOpenArtifacts = async (
  { blobs }: Deps,
  { project, id, artifacts }: Task,
): Promise<JsonObject[] | undefined> =>
  (await loadArtifactViews(blobs, project, id, artifacts))?.map((artifact) => encodeArtifact(artifact));

/** The status with what is beside it. */
export const loadStatus = async (deps: Deps, task: Task): Promise<JsonObject> => {
  const { status, ...rest } = await loadSaidStatus(deps, task);
  return { ...rest, status: { ...toObjectOrEmpty(status), timestamp: toIso(getStatusTime(task)) } };
};

const loadSaidStatus = async (deps: Deps, task: Task): Promise<JsonObject> => {
  if (isHeld(task)) {
    const reportId = uuidFromSeed([A2A, 'status', task.id, getStatusTime(task)]);
    return toObjectOrEmpty(encodeReport({ ...task, reportId }).statusUpdate);
  }
  if (task.status === 'requested' || task.status === 'waiting') return buildQueuedStatus(task);
  const said = await encodeTask(deps, task, A2A);
  return toObjectOrEmpty(isOpen(task) ? said.statusUpdate : said.task);
};

const buildQueuedStatus = (task: Task): JsonObject => {
  const { id, attempt, maxAttempts, capability, dependencyIds, notBefore, status } = task;
  const text = `The task waits for attempt ${countSpentAttempts(task) + 1} of ${maxAttempts}.`;
  const messageId = uuidFromSeed([A2A, 'status', id, getStatusTime(task)]);
  return {
    status: {
      state: toTaskState(task),
      message: attempt > 0 ? buildAgentMessage(task, messageId, [{ text }]) : undefined,
    },
    metadata: {
      parley: {
        capability,
        attempt,
        waitsFor: status === 'waiting' ? dependencyIds : undefined,
        notBefore: attempt === 0 ? toIso(notBefore) : undefined,
        retryAt: attempt === 0 ? undefined : toIso(notBefore),
      },
    },
  };
};
