import type { Deps } from '../../identity/deps.ts';
import type { Json } from '../../kernel/json/json.ts';
import { SYSTEM_SENDER } from '../../kernel/system-sender.ts';
import { type Task, taskRef } from '../../tasks/model/task.ts';
import { toTaskView } from '../../tasks/queries/task-view.ts';
import { buildCancelTransition } from '../../tasks/transitions/end-and-requeue.ts';
import { toConditionalUpdate } from '../../tasks/transitions/rules.ts';
import { forceStop } from '../../turns/lifecycle/stop-turn.ts';
import { type Turn, turnRef } from '../../turns/model/turn.ts';

/** What is told of a part beside how it ended. */
export interface BatchItemResult {
  result?: Json;
  /** Where the result is, if it is too large to stand here. */
  uri?: string;
  error?: { code: string; message: string };
}

interface BatchItemKind {
  /** Ends it, unless it has ended. */
  stop(deps: Deps, project: string, id: string): Promise<void>;
  /** By their ids; what is no longer kept is missing. */
  loadResults(deps: Deps, project: string, ids: string[]): Promise<Map<string, BatchItemResult>>;
}

const taskItems: BatchItemKind = {
  stop: async (deps, project, id) => {
    const stopped = buildCancelTransition(SYSTEM_SENDER, { now: deps.clock.now(), limits: deps.config.tasks });
    await deps.records.update(taskRef(project, id), toConditionalUpdate(stopped), deps.newId());
  },
  loadResults: async (deps, project, ids) => {
    const tasks = await deps.records.getMany(ids.map((id) => taskRef(project, id)));
    return new Map(tasks.map((one) => [one.id, toTaskResult(one)]));
  },
};

const toTaskResult = (one: Task): BatchItemResult => {
  const { id, output } = one;
  const { error } = toTaskView(one);
  if (error) return { error: { code: error.code, message: error.message } };
  if (!output) return {};
  return 'json' in output ? { result: output.json } : { uri: `/v1/tasks/${encodeURIComponent(id)}` };
};

const turnItems: BatchItemKind = {
  stop: (deps, project, id) => forceStop(deps, project, id, 'The batch that it was a part of has ended.'),
  loadResults: async (deps, project, ids) => {
    const turns = await deps.records.getMany(ids.map((id) => turnRef(project, id)));
    return new Map(turns.map((one) => [one.id, toTurnResult(one)]));
  },
};

const toTurnResult = ({ end }: Turn): BatchItemResult =>
  end?.deliverable === undefined ? {} : { uri: `/v1/cards/${end.deliverable}` };

const ITEM_KINDS: Readonly<Record<string, BatchItemKind>> = { task: taskItems, turn: turnItems };

export const getItemKind = (kind: string): BatchItemKind => {
  const found = ITEM_KINDS[kind];
  if (found) return found;
  throw new Error(`nothing is known about parts such as ${kind}`);
};
