import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { type HistoryEntry, hasHistory, MAX_HISTORY_ENTRIES } from '../../model/history.ts';
import { isOpen, type Task, taskRef } from '../../model/task.ts';
import { waitUntil } from '../../storage/wait-until.ts';
import { isDependencyOfAssigned } from '../dependencies/dependency-results.ts';
import { withResolvedTaskId } from '../ids/aliases.ts';
import { canReadTask } from './can-read-task.ts';

interface TaskWithHistory {
  task: Task;
  entries: HistoryEntry[];
}

/** With `waitMs`, returns when the task has ended or asks for input, or after that time. */
export const getTask = (
  deps: Deps,
  caller: Caller,
  id: string,
  waitMs = 0,
  signal?: AbortSignal,
): Promise<TaskWithHistory> =>
  withResolvedTaskId(deps, caller.project, id, (taskId) => getTaskById(deps, caller, taskId, waitMs, signal));

const getTaskById = async (
  deps: Deps,
  caller: Caller,
  id: string,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<TaskWithHistory> => {
  const ref = taskRef(caller.project, id);
  const read = async (): Promise<Task> => assertReadable(deps, caller, id, await deps.records.get(ref));
  const task = await waitUntil(deps, [ref.pk], { waitMs, signal }, read, (found) => !isInProgress(found));
  return { task, entries: hasHistory(task) ? await listHistory(deps, task) : [] };
};

/** Access may change during the wait, when another agent claims the task. */
const assertReadable = (deps: Deps, caller: Caller, id: string, task: Task | undefined): Task | Promise<Task> =>
  task && canReadTask(caller, task) ? task : assertReadableByHolder(deps, caller, id, task);

const assertReadableByHolder = async (
  deps: Deps,
  caller: Caller,
  id: string,
  task: Task | undefined,
): Promise<Task> => {
  if (task && (await isDependencyOfAssigned(deps, caller, task))) return task;
  throw new ParleyError('task_not_found', `There is no task ${id}.`);
};

const listHistory = async (deps: Deps, task: Task): Promise<HistoryEntry[]> => {
  const entries = await deps.records.query<HistoryEntry>({
    pk: task.pk,
    prefix: 'history#',
    limit: MAX_HISTORY_ENTRIES,
  });
  return entries.filter((entry) => entry.taskCreatedAt === task.createdAt);
};

/** Its holder has to act. */
export const isInProgress = (task: Task): boolean => isOpen(task) && task.status !== 'input_required';
