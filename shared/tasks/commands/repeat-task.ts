import { findDialect } from '../../dialects/registry.ts';
import type { Deps } from '../../identity/deps.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import type { Task } from '../../model/task.ts';
import type { Change } from '../../ports/conditions.ts';
import { loadContent } from '../../storage/content.ts';
import type { ManualChange } from '../transitions/end-and-requeue.ts';
import { createTask } from './create-task.ts';

/** In some protocols a task that has ended never changes: it is retried as another one. */
export const isRepeatedAsAnother = ({ dialect }: Pick<Task, 'dialect'>): boolean =>
  findDialect(dialect)?.referToTask !== undefined;

/** The same for each repetition. */
export const getRepetitionId = ({ id }: Pick<Task, 'id'>): string => uuidFromSeed(['repetition', id]);

/** The same work again, which refers to the task that it repeats. */
export const createRepetition = async (deps: Deps, task: Task): Promise<void> => {
  const { project, dialect, traceparent, tracestate, baggage } = task;
  const taskId = getRepetitionId(task);
  await createTask(
    deps,
    { project, role: 'admin' },
    dialect,
    {
      kind: 'request',
      messageId: taskId,
      taskId,
      fingerprint: computeFingerprint(['repetition', task.id]),
      from: task.from,
      to: task.to,
      capability: task.capability,
      input: await loadContent(deps.blobs, project, task.input),
      priority: task.priority,
      ttlSeconds: task.ttlSeconds,
      conversation: task.conversation ?? task.id,
      user: task.user,
      parent: task.parent,
      retry: task.retry,
      limits: task.limits,
      maxAttempts: task.retry?.maxAttempts,
      extensions: findDialect(dialect)?.referToTask?.(task.extensions, task.id) ?? task.extensions,
    },
    { traceparent, ...(tracestate && { tracestate }), ...(baggage && { baggage }) },
  );
};

/** It is no dead letter any more. */
export const buildRepeatedChange = (by: string, { reason, operationId }: ManualChange): Change => ({
  set: { retriedBy: by, retryReason: reason, operationId },
  unset: ['byList'],
});
