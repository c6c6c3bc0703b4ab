import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { assertNotReserved, uuidFromSeed } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import type { Json } from '../../kernel/json/json.ts';
import type { Trace } from '../../kernel/trace.ts';
import type { TaskRequestCommand } from '../../model/command.ts';
import { isOpen, type Task, taskRef } from '../../model/task.ts';
import { exists } from '../../ports/conditions.ts';
import type { Priority } from '../../ports/queues.ts';
import { loadContent } from '../../storage/content.ts';
import { findTaskByAnyId } from '../ids/aliases.ts';
import { assertRequester } from './assert-requester.ts';
import { type CreateTaskResult, createTask } from './create-task.ts';
import { taskNotFoundError } from './update-task.ts';

interface Rerun {
  /** Of the new task. */
  id?: string | undefined;
  input?: Json | undefined;
  priority?: Priority | undefined;
  trace: Trace;
  makeId: () => string;
}

/** A new task in the name of the same requester. Parent, batch and graph have ended with the old one. */
export const rerunTask = async (
  deps: Deps,
  caller: Caller,
  oldId: string,
  { id: given, input, priority, trace, makeId }: Rerun,
): Promise<CreateTaskResult & { task: Task }> => {
  if (given !== undefined) assertNotReserved('A task', given);
  const id = given ?? uuidFromSeed(['rerun', makeId()]);
  const old = await findTaskByAnyId(deps.records, caller.project, oldId);
  if (!old) throw taskNotFoundError(oldId);
  assertRequester(caller, old, oldId);
  if (isOpen(old)) {
    throw new ParleyError('not_retryable', `The task ${oldId} is ${old.status}; only one that has ended is run again.`);
  }
  const again = input ?? (await loadContent(deps.blobs, old.project, old.input));
  const request = buildRequest(old, id, priority ?? old.priority, again);
  const created = await createTask(deps, caller, old.dialect, request, trace);
  const task = await deps.records.get(taskRef(old.project, id));
  if (!task) throw new ParleyError('conflict', `The task ${id} is no longer kept. Try again.`);
  const change = { if: exists('endedAt'), set: { rerunAs: id } };
  await deps.records.update(taskRef(old.project, old.id), change, deps.newId());
  return { ...created, task };
};

const buildRequest = (old: Task, id: string, priority: Priority, input: Json): TaskRequestCommand => ({
  kind: 'request',
  messageId: id,
  taskId: id,
  fingerprint: computeFingerprint(['rerun', old.id, input, priority]),
  from: old.from,
  to: old.to,
  capability: old.capability,
  domain: old.domain,
  priority,
  ttlSeconds: old.ttlSeconds,
  boundsAnswer: old.answerBy === undefined ? undefined : true,
  conversation: old.conversation,
  user: old.user,
  input,
  extensions: old.extensions,
  delegationChain: old.delegationChain,
  retry: old.retry,
  limits: old.limits,
  maxAttempts: old.retriedBy === undefined ? old.maxAttempts : undefined,
  baggage: old.baggage,
  rerunOf: old.id,
});
