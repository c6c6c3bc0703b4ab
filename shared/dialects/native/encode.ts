import { SYSTEM_SENDER } from '../../kernel/ids.ts';
import { type Json, type JsonObject, toObjectOrEmpty } from '../../kernel/json/json.ts';
import { formatExpiry, isCancelled, type TaskOutcome } from '../../model/delivery.ts';
import type { DirectMessage } from '../../model/direct-message.ts';
import type { ReportedTask, Task, TaskError } from '../../model/task.ts';
import { toIso } from '../../ports/clock.ts';
import { NATIVE } from './decode.ts';

export const encodeRequest = (task: Task, input: Json, results?: JsonObject): JsonObject => ({
  kind: 'request',
  id: task.id,
  capability: task.capability,
  input,
  from: task.from,
  to: task.to,
  priority: task.priority,
  createdAt: toIso(task.createdAt),
  ttlSeconds: task.ttlSeconds,
  conversation: task.conversation,
  user: task.user,
  parent: task.parent,
  dependencies: task.dependencyIds,
  results,
  dialect: task.dialect,
  lastError: task.error && encodeError(task.error),
  answer: task.answer,
  ...splitExtensions(task.extensions),
});

export const encodeReport = (task: ReportedTask): JsonObject => {
  const about = { id: task.reportId, taskId: task.id, attempt: task.attempt, at: toIso(task.at) };
  const { failedAttempt } = task;
  if (failedAttempt)
    return { kind: 'failure', ...about, from: failedAttempt.agent, status: 'retrying', ...encodeError(failedAttempt) };
  return { kind: task.progress ? 'progress' : 'claim', ...about, from: task.holder, ...encodeSteps(task) };
};

const encodeSteps = (task: ReportedTask): JsonObject => ({
  percent: task.progress?.percent,
  message: task.progress?.message,
  blockers: task.progress?.blockers,
  ...(task.progress ? splitExtensions(task.progress.extensions) : { metadata: task.claimNote }),
});

export const encodeOutcome = (
  outcome: TaskOutcome,
  output: Json | undefined,
  artifacts: JsonObject[] | undefined,
): JsonObject => {
  const { id, from, status, task, prompt, answer, confidence } = outcome;
  const about = {
    id,
    taskId: task.id,
    capability: task.capability,
    from,
    attempt: task.attempt,
    at: toIso(outcome.happenedAt),
  };
  // The prompt may have fields of any name.
  if (status === 'claimed') return { ...prompt, kind: 'answer', ...about, answer };
  if (status === 'input_required') return { ...prompt, kind: 'question', ...about };
  const carried = from === SYSTEM_SENDER ? {} : splitExtensions(outcome.extensions);
  if (status === 'completed')
    return { kind: 'result', ...about, output: output ?? null, confidence, artifacts, ...carried };
  const end = isCancelled(outcome) ? 'cancelled' : status;
  return { kind: 'failure', ...about, status: end, ...encodeError(toError(outcome)), ...carried };
};

export const encodeDirectMessage = (message: DirectMessage, content: Json): JsonObject => ({
  kind: 'message',
  id: message.id,
  from: message.from,
  to: message.to,
  type: message.type.startsWith(`${NATIVE}.`) ? message.type.slice(NATIVE.length + 1) : message.type,
  content,
  priority: message.priority,
  ttlSeconds: message.ttlSeconds,
  correlation: message.correlation,
  at: toIso(message.createdAt),
  ...splitExtensions(message.extensions),
});

const toError = ({ status, task, error }: TaskOutcome): TaskError => {
  if (status === 'cancelled') return { code: 'cancelled', message: 'The task was cancelled.', retryable: false };
  if (status === 'expired') {
    return { code: 'expired', message: formatExpiry(task), retryable: true };
  }
  return error ?? { code: 'internal_error', message: 'The task failed.', retryable: false };
};

const encodeError = ({ code, message, retryable, retryAfterSeconds, details }: TaskError): JsonObject => ({
  code,
  message,
  retryable,
  retryAfterSeconds,
  details,
});

/** Its own metadata, and what other dialects have words for. */
const splitExtensions = (extensions: JsonObject = {}): JsonObject => {
  const { [NATIVE]: own, ...foreign } = extensions;
  return {
    metadata: toObjectOrEmpty(own).metadata,
    extensions: Object.keys(foreign).length > 0 ? foreign : undefined,
  };
};
