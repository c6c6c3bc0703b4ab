import type { Deps } from '../../identity/deps.ts';
import { type Task, taskRef } from '../../model/task.ts';
import { and, equals, notExists } from '../../ports/conditions.ts';
import { enqueueEagerly } from './update-task.ts';

/** Queues a task once more whose queue message went astray, if it still waits for that very message. */
export const requeueTask = async (
  deps: Deps,
  project: string,
  taskId: string,
  entry: number,
): Promise<{ isSent: boolean; task?: Task | undefined }> => {
  const waiting = and(equals('status', 'requested'), equals('queueGeneration', entry), notExists('notBefore'));
  const change = { if: waiting, add: { requeueCount: 1 } };
  const written = await deps.records.update(taskRef(project, taskId), change, deps.newId());
  if (written.outcome === 'refused') return { isSent: false, task: written.existing };
  if (!written.replayed) await enqueueEagerly(deps, written);
  return { isSent: true, task: written.after };
};
