import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import type { Json, JsonObject } from '../../kernel/json/json.ts';
import { getStep } from '../../model/step.ts';
import type { Task } from '../../model/task.ts';
import { loadContent } from '../../storage/content.ts';
import { getTask } from './get-task.ts';

export const getStepValue = async (deps: Deps, caller: Caller, id: string, name: string): Promise<Json> => {
  const { task } = await getTask(deps, caller, id);
  const content = getStep(task, name);
  if (content) return loadContent(deps.blobs, task.project, content);
  throw new ParleyError('not_found', `The task ${task.id} has no step "${name}".`);
};

/** Small values, and the size of larger ones. */
export const toStepsView = ({ steps }: Task): JsonObject | undefined =>
  steps &&
  Object.fromEntries(
    Object.entries(steps).map(([name, content]) => [
      name,
      'json' in content ? { value: content.json } : { bytes: content.bytes },
    ]),
  );
