import type { Deps } from '../deps.ts';
import { PARLEY } from '../inbox/delivery.ts';
import type { Json } from '../json/json.ts';
import { cancel } from '../tasks/ends.ts';
import { unseen } from '../tasks/rules.ts';
import { type Task, taskRef } from '../tasks/task.ts';
import { viewOf } from '../tasks/task-view.ts';
import { stopWhatever } from '../turns/stop.ts';
import { type Turn, turnRef } from '../turns/turn.ts';

/** What is told of a part beside how it ended. */
export interface ShownPart {
  result?: Json;
  /** Where the result is, if it is too large to stand here. */
  uri?: string;
  error?: { code: string; message: string };
}

interface PartKind {
  /** Ends it, unless it has ended. */
  stop(deps: Deps, project: string, id: string): Promise<void>;
  /** By their ids; what is no longer kept is missing. */
  shown(deps: Deps, project: string, ids: string[]): Promise<Map<string, ShownPart>>;
}

const task: PartKind = {
  stop: async (deps, project, id) => {
    const stopped = cancel(PARLEY, { now: deps.clock.now(), limits: deps.config.tasks });
    await deps.records.update(taskRef(project, id), unseen(stopped), deps.newId());
  },
  shown: async (deps, project, ids) => {
    const tasks = await deps.records.getMany(ids.map((id) => taskRef(project, id)));
    return new Map(tasks.map((one) => [one.id, shownTask(one)]));
  },
};

const shownTask = (one: Task): ShownPart => {
  const { id, output } = one;
  const { error } = viewOf(one);
  if (error) return { error: { code: error.code, message: error.message } };
  if (!output) return {};
  return 'json' in output ? { result: output.json } : { uri: `/v1/tasks/${encodeURIComponent(id)}` };
};

const turn: PartKind = {
  stop: (deps, project, id) => stopWhatever(deps, project, id, 'The batch that it was a part of has ended.'),
  shown: async (deps, project, ids) => {
    const turns = await deps.records.getMany(ids.map((id) => turnRef(project, id)));
    return new Map(turns.map((one) => [one.id, shownTurn(one)]));
  },
};

const shownTurn = ({ end }: Turn): ShownPart =>
  end?.deliverable === undefined ? {} : { uri: `/v1/cards/${end.deliverable}` };

const KINDS: Readonly<Record<string, PartKind>> = { task, turn };

export const kindOfPart = (kind: string): PartKind => {
  const found = KINDS[kind];
  if (found) return found;
  throw new Error(`nothing is known about parts such as ${kind}`);
};
