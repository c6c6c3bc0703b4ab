import { fittingFor } from '../cards/large-content.ts';
import type { Deps } from '../deps.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { encoderOf } from '../dialects/encoders.ts';
import type { JsonObject } from '../json/json.ts';
import { keepAlias } from './alias.ts';
import { loaded } from './content.ts';
import { shortNameOf } from './short-names.ts';
import type { Task } from './task.ts';

/** Keeps what agents of the dialect call the task, where they cannot say its id. */
export const makeSayable = (
  deps: Deps,
  project: string,
  { spoken }: Pick<Dialect, 'spoken'>,
  taskId: string,
): Promise<void> | undefined => {
  const id = spoken?.(taskId) ?? taskId;
  return id === taskId ? undefined : keepAlias(deps, project, id, taskId);
};

/** The task as a request to the agent, if it is for one, in words with which that one can speak of it. */
export const requestInWords = async (
  deps: Deps,
  task: Task,
  dialect: Dialect,
  agent: string | undefined,
  called = task.id,
): Promise<JsonObject> => {
  const { project, from, parent } = task;
  if (parent !== undefined) await makeSayable(deps, project, dialect, parent);
  // A request of the dialect itself was given its short name when it came.
  const isUnnamed = task.dialect !== dialect.name || called !== task.id;
  if (agent !== undefined && dialect.usesShortIds && isUnnamed) {
    await deps.records.create(shortNameOf(task, agent, task.createdAt, deps.clock.now(), called), deps.newId());
  }
  const content = await loaded(deps.blobs, project, task.input);
  const input = await fittingFor(deps, dialect, { project, from, type: 'task.instruction' }, content);
  return encoderOf(dialect).encodeRequest(called === task.id ? task : { ...task, id: called }, input);
};
