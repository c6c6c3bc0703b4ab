import type { Deps } from '../deps.ts';
import { absent, all, is } from '../ports/conditions.ts';
import { hurry } from './change-task.ts';
import { type Task, taskRef } from './task.ts';

/** Queues a task once more whose queue message went astray, if it still waits for that very message. */
export const sendAgain = async (
  deps: Deps,
  project: string,
  taskId: string,
  entry: number,
): Promise<{ isSent: boolean; task?: Task | undefined }> => {
  const waiting = all(is('status', 'requested'), is('entry', entry), absent('notBefore'));
  const change = { if: waiting, add: { resent: 1 } };
  const written = await deps.records.update(taskRef(project, taskId), change, deps.newId());
  if (written.outcome === 'refused') return { isSent: false, task: written.current };
  if (!written.again) await hurry(deps, written);
  return { isSent: true, task: written.after };
};
