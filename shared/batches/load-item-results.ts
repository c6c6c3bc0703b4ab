import type { Deps } from '../identity/deps.ts';
import type { Json } from '../kernel/json/json.ts';
import type { BatchItem } from '../model/batch.ts';
import { type Task, taskRef } from '../model/task.ts';
import { type Turn, turnRef } from '../model/turn.ts';
import { toTaskView } from '../tasks/queries/task-view.ts';

/** What is told of a part beside how it ended. */
export interface BatchItemResult {
  result?: Json;
  /** Where the result is, if it is too large to stand here. */
  uri?: string;
  error?: { code: string; message: string };
}

type ItemResultLoader = (deps: Deps, project: string, ids: string[]) => Promise<Map<string, BatchItemResult>>;

const loadTaskResults: ItemResultLoader = async (deps, project, ids) => {
  const tasks = await deps.records.getMany(ids.map((id) => taskRef(project, id)));
  return new Map(tasks.map((one) => [one.id, toTaskResult(one)]));
};

const toTaskResult = (one: Task): BatchItemResult => {
  const { id, output } = one;
  const { error } = toTaskView(one);
  if (error) return { error: { code: error.code, message: error.message } };
  if (!output) return {};
  return 'json' in output ? { result: output.json } : { uri: `/v1/tasks/${encodeURIComponent(id)}` };
};

const loadTurnResults: ItemResultLoader = async (deps, project, ids) => {
  const turns = await deps.records.getMany(ids.map((id) => turnRef(project, id)));
  return new Map(turns.map((one) => [one.id, toTurnResult(one)]));
};

const toTurnResult = ({ end }: Turn): BatchItemResult =>
  end?.deliverable === undefined ? {} : { uri: `/v1/cards/${end.deliverable}` };

const RESULT_LOADERS: Readonly<Record<BatchItem['kind'], ItemResultLoader>> = {
  task: loadTaskResults,
  turn: loadTurnResults,
};

/** By their ids; what is no longer kept is missing. */
export const loadItemResults = (
  deps: Deps,
  project: string,
  kind: BatchItem['kind'],
  ids: string[],
): Promise<Map<string, BatchItemResult>> => RESULT_LOADERS[kind](deps, project, ids);
