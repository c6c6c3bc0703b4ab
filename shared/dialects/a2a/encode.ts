import { SYSTEM_SENDER, uuidFromSeed } from '../../kernel/ids.ts';
import { type Json, type JsonObject, toObjectOrEmpty } from '../../kernel/json/json.ts';
import { formatExpiry, type TaskOutcome } from '../../model/delivery.ts';
import type { DirectMessage } from '../../model/direct-message.ts';
import { getDelegationChain, type ReportedTask, type Task, type TaskError } from '../../model/task.ts';
import { toIso } from '../../ports/clock.ts';
import { buildParts, encodeArtifact, encodeResultArtifact } from './content.ts';
import { A2A } from './decode.ts';
import { toTaskState } from './states.ts';

/** Every task has a context: one that belongs to no conversation has its own. */
export const getContextId = ({ conversation, id }: { conversation?: string | undefined; id: string }): string =>
  conversation ?? id;

/** As its holder reads it: `taskId` is what reports name. */
export const encodeRequest = (task: Task, input: Json, results?: JsonObject): JsonObject => {
  const { own, carried } = splitExtensions(task.extensions);
  return {
    message: {
      ...encodeRequestMessage(task, input),
      metadata: omitIfEmpty({
        ...toObjectOrEmpty(own.messageMetadata),
        parley: omitIfEmpty({
          capability: task.capability,
          from: task.from,
          to: task.to,
          priority: task.priority,
          ttlSeconds: task.ttlSeconds,
          createdAt: toIso(task.createdAt),
          user: task.user,
          parent: task.parent,
          dependencies: task.dependencyIds,
          chain: getDelegationChain(task).length > 1 ? getDelegationChain(task) : undefined,
          results,
          lastError: task.error && encodeError(task.error),
          answer: task.answer,
          carried,
        }),
      }),
    },
    configuration: own.acceptedOutputModes === undefined ? undefined : { acceptedOutputModes: own.acceptedOutputModes },
    metadata: own.metadata,
  };
};

/** The message that asked for the task, without Parley's own words. */
export const encodeRequestMessage = (task: Task, input: Json): JsonObject => {
  const { own } = splitExtensions(task.extensions);
  return {
    messageId: own.messageId ?? task.id,
    contextId: getContextId(task),
    taskId: task.id,
    role: 'ROLE_USER',
    parts: buildParts(input),
    metadata: own.messageMetadata,
    extensions: own.extensions,
    referenceTaskIds: own.referenceTaskIds,
  };
};

export const encodeReport = (task: ReportedTask): JsonObject => {
  const { id, progress, claimNote, failedAttempt } = task;
  const { own, carried } = splitExtensions(progress?.extensions);
  const text = failedAttempt
    ? `Attempt ${task.attempt} failed, and the task is tried again: ${failedAttempt.message}`
    : (progress?.message ?? (typeof claimNote?.message === 'string' ? claimNote.message : undefined));
  return {
    statusUpdate: {
      taskId: id,
      contextId: getContextId(task),
      status: {
        state: toTaskState(task),
        message:
          text === undefined
            ? undefined
            : {
                ...buildAgentMessage(task, task.reportId ?? uuidFromSeed([A2A, 'report', id, task.v]), [{ text }]),
                metadata: own.messageMetadata,
              },
        timestamp: toIso(task.at),
      },
      metadata: {
        ...toObjectOrEmpty(own.metadata),
        parley: omitIfEmpty({
          messageId: task.reportId,
          kind: failedAttempt ? 'retrying' : progress ? 'progress' : 'claim',
          percent: progress?.percent,
          blockers: progress?.blockers,
          subTasks: progress?.subTasks,
          confidence: progress?.confidence,
          from: failedAttempt ? failedAttempt.agent : task.holder,
          attempt: task.attempt,
          error: failedAttempt && encodeError(failedAttempt),
          note: progress ? undefined : claimNote,
          carried,
        }),
      },
    },
  };
};

export const buildAgentMessage = (
  task: { id: string; conversation?: string },
  messageId: string,
  parts: JsonObject[],
): JsonObject => ({ messageId, contextId: getContextId(task), taskId: task.id, role: 'ROLE_AGENT', parts });

export const encodeOutcome = (
  outcome: TaskOutcome,
  output: Json | undefined,
  artifacts: JsonObject[] | undefined,
): JsonObject => {
  const { id, from, task, status, prompt, answer, happenedAt } = outcome;
  const { own, carried } = from === SYSTEM_SENDER ? NOTHING_SAID : splitExtensions(outcome.extensions);
  const contextId = getContextId(task);
  if (status === 'claimed') {
    const parley = { prompt, messageId: id, from };
    const parts = buildParts(answer);
    return { message: { messageId: id, contextId, taskId: task.id, role: 'ROLE_USER', parts, metadata: { parley } } };
  }
  const error = status === 'failed' || status === 'expired' ? toError(outcome) : undefined;
  const parts = prompt && status === 'input_required' ? encodePrompt(prompt) : error && [{ text: error.message }];
  const about = {
    contextId,
    status: {
      state: toTaskState({ status, attempt: task.attempt, prompt, error }),
      message: parts && {
        ...buildAgentMessage(task, id, parts),
        metadata: own.messageMetadata,
      },
      timestamp: toIso(happenedAt),
    },
    metadata: {
      ...toObjectOrEmpty(own.metadata),
      parley: omitIfEmpty({
        messageId: id,
        from,
        capability: task.capability,
        attempt: task.attempt,
        confidence: outcome.confidence,
        state: status === 'expired' ? status : undefined,
        prompt: status === 'input_required' ? prompt : undefined,
        error: error && encodeError(error),
        carried,
      }),
    },
  };
  if (status === 'input_required') return { statusUpdate: { taskId: task.id, ...about } };
  const results = status === 'completed' ? [encodeResultArtifact(output)] : [];
  const all = [...results, ...(artifacts ?? []).map(encodeArtifact)];
  return { task: { id: task.id, ...about, artifacts: all.length > 0 ? all : undefined } };
};

const NOTHING_SAID = { own: {} as JsonObject, carried: undefined };

const encodePrompt = ({ prompt, parts }: JsonObject): JsonObject[] =>
  Array.isArray(parts) ? buildParts({ parts }) : [{ text: typeof prompt === 'string' ? prompt : 'Input is needed.' }];

/** What ends a task that did not complete, in words. */
export const toError = ({ status, task, error }: Pick<TaskOutcome, 'status' | 'task' | 'error'>): TaskError =>
  status === 'expired'
    ? { code: 'expired', message: formatExpiry(task), retryable: true }
    : (error ?? { code: 'internal_error', message: 'The task failed.', retryable: false });

export const encodeError = ({ code, message, retryable, retryAfterSeconds, details }: TaskError): JsonObject => ({
  code,
  message,
  retryable,
  retryAfterSeconds,
  details,
});

export const encodeDirectMessage = (message: DirectMessage, content: Json): JsonObject => {
  const { own, carried } = splitExtensions(message.extensions);
  return {
    message: {
      messageId: message.id,
      contextId: own.contextId,
      role: 'ROLE_AGENT',
      parts: buildParts(content),
      extensions: own.extensions,
      metadata: {
        ...toObjectOrEmpty(own.messageMetadata),
        parley: omitIfEmpty({
          from: message.from,
          to: message.to,
          type: message.type.startsWith(`${A2A}.`) ? message.type.slice(A2A.length + 1) : message.type,
          priority: message.priority,
          ttlSeconds: message.ttlSeconds,
          correlation: message.correlation,
          createdAt: toIso(message.createdAt),
          carried,
        }),
      },
    },
    metadata: own.metadata,
  };
};

/** Its own words, and what other dialects have words for. */
export const splitExtensions = (extensions: JsonObject = {}): { own: JsonObject; carried: JsonObject | undefined } => {
  const { [A2A]: own, ...foreign } = extensions;
  return { own: toObjectOrEmpty(own), carried: omitIfEmpty(foreign) };
};

export const omitIfEmpty = (value: JsonObject): JsonObject | undefined =>
  Object.values(value).some((member) => member !== undefined) ? value : undefined;
