import type { RegisteredAgent } from '../../identity/agents/agent.ts';
import type { Deps } from '../../identity/deps.ts';
import { assertMaxSize, type Json } from '../../kernel/json/json.ts';
import { buildStepChange, getStep, INLINE_STEP_BYTES } from '../../model/step.ts';
import { equals, mergeChanges } from '../../ports/conditions.ts';
import { deleteOrphans, loadContent, storeContent, withBlobCleanup } from '../../storage/content.ts';
import { withResolvedTaskId } from '../ids/aliases.ts';
import { buildRenewTransition } from '../transitions/holder-transitions.ts';
import { applyTo } from '../transitions/rules.ts';
import { canReportOn, toActor } from './apply-report.ts';
import { taskNotFoundError, updateTask } from './update-task.ts';

interface StepResult {
  /** The first value counts, whoever writes the step later. */
  value: Json;
  duplicate: boolean;
}

interface StepInput {
  name: string;
  value: Json;
  attempt?: number;
}

/** By the holder only. Renews the lease. */
export const putStep = (deps: Deps, holder: RegisteredAgent, id: string, step: StepInput): Promise<StepResult> =>
  withResolvedTaskId(deps, holder.agent.project, id, (taskId) => putStepOfTask(deps, holder, taskId, step));

const putStepOfTask = async (
  deps: Deps,
  holder: RegisteredAgent,
  taskId: string,
  { name, value, attempt }: StepInput,
): Promise<StepResult> => {
  const { project } = holder.agent;
  const by = toActor(deps, holder);
  const measured = assertMaxSize('The value of the step', value, deps.config.limits.outputBytes);
  const content = await storeContent(deps, project, taskId, measured, INLINE_STEP_BYTES);
  const done = await withBlobCleanup(deps.blobs, [content], () =>
    updateTask(deps, project, taskId, undefined, (task) => {
      if (!canReportOn(holder, task)) return taskNotFoundError(taskId);
      const renewed = applyTo(task, buildRenewTransition(by, attempt, task));
      if (renewed instanceof Error || getStep(task, name)) return renewed instanceof Error ? renewed : 'unchanged';
      const added = buildStepChange(task, name, content);
      return added instanceof Error ? added : { ...mergeChanges(renewed, added), if: equals('v', task.v) };
    }),
  );
  if (done.outcome === 'changed') return { value, duplicate: false };
  const kept = getStep(done.record, name);
  await deleteOrphans(deps.blobs, [content], [kept]);
  return { value: kept ? await loadContent(deps.blobs, project, kept) : value, duplicate: true };
};
