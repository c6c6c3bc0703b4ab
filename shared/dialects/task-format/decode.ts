import type * as z from 'zod';
import type { Config } from '../../config/config.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { isJsonObject, type JsonObject, toJsonObject } from '../../kernel/json/json.ts';
import { parseOrThrow } from '../../kernel/json/parse-or-throw.ts';
import { buildTrace, encodeBaggage, isLosslessBaggage } from '../../kernel/trace.ts';
import type { Artifact } from '../../model/artifact.ts';
import type { Command, DirectMessageCommand, TaskRequestCommand } from '../../model/command.ts';
import type { RetryPolicy } from '../../model/task.ts';
import { MAX_TTL_SECONDS, omitStamps, toNotBefore } from '../codec-helpers.ts';
import { CANCELLED_CODE, getRetryRule, MAX_STANDARD_ATTEMPTS } from './error-codes.ts';
import {
  type ArtifactSchema,
  pickSchema,
  Signal,
  TaskRequest,
  TaskResponse,
  TaskUpdate,
  UntypedTaskResponse,
} from './schema.ts';

/** Task Format has no time to live of its own. */
export const TASK_FORMAT_TTL_SECONDS = 3600;

/** Whoever is not named in a message is the one whose key brought it. */
export const decode = (wire: JsonObject, _config: Config, sender: string | undefined): Command => {
  const shape = pickSchema(wire);
  if (shape === UntypedTaskResponse) parseOrThrow(UntypedTaskResponse, wire, 'invalid_message', MESSAGE_LABEL);
  if (shape === TaskRequest)
    return toRequestCommand(parseOrThrow(TaskRequest, wire, 'invalid_message', MESSAGE_LABEL), sender);
  if (shape === TaskUpdate)
    return toAnswerCommand(parseOrThrow(TaskUpdate, wire, 'invalid_message', MESSAGE_LABEL), sender);
  if (shape === Signal) return toSignalCommand(parseOrThrow(Signal, wire, 'invalid_message', MESSAGE_LABEL), sender);
  return toReportCommand(parseOrThrow(TaskResponse, wire, 'invalid_message', MESSAGE_LABEL), sender);
};

const MESSAGE_LABEL = 'The task-format message';

const resolveSender = (name: string | undefined, sender: string | undefined, path: string): string => {
  const agent = name ?? sender;
  if (agent !== undefined) return agent;
  throw new ParleyError(
    'invalid_message',
    `${MESSAGE_LABEL} must say who sends it where an admin key brings it: ${path}.`,
    {
      issues: [{ path, message: 'must name the agent for which an admin key speaks' }],
    },
  );
};

const toRequestCommand = (wire: TaskRequest, sender: string | undefined): TaskRequestCommand => {
  const { id, type, payload, status: _pending, context, routing, observability, retryPolicy, ...fields } = wire;
  const from = resolveSender(routing.source, sender, 'routing.source');
  const { parentTaskId, priority, ...aboutContext } = context;
  const { source: _source, target, delegationChain, ...aboutRouting } = routing;
  const trace = buildTrace(observability.traceId, observability.spanId);
  const { traceId, spanId, baggage: members, ...aboutTrace } = observability;
  const baggage = members && encodeBaggage(toJsonObject(members));
  // What the task itself can tell again is not kept twice.
  const untold = members && isLosslessBaggage(baggage, toJsonObject(members)) ? {} : { baggage: members };
  return {
    kind: 'request',
    messageId: id,
    fingerprint: computeFingerprint({ ...omitTaskFormatStamps(toJsonObject(wire)), from }),
    from,
    taskId: id,
    to: target,
    capability: type,
    priority: priority === 'urgent' ? 'critical' : priority,
    ttlSeconds: TASK_FORMAT_TTL_SECONDS,
    ...toNotBefore(context.notBefore),
    limits: context.limits,
    parent: parentTaskId,
    conversation: context.conversationId,
    user: context.user,
    isSubtask: parentTaskId === undefined ? undefined : true,
    delegationChain,
    retry: retryPolicy && toRetryPolicy(retryPolicy),
    maxAttempts: retryPolicy?.maxAttempts ?? MAX_STANDARD_ATTEMPTS,
    trace,
    baggage,
    input: payload,
    extensions: toExtensions({
      ...toExtraFields(fields),
      context: toJsonObject(aboutContext),
      routing: toJsonObject(aboutRouting),
      observability: toJsonObject({ ...aboutTrace, ...untold, ...(trace ? {} : { traceId, spanId }) }),
    }),
  };
};

const toRetryPolicy = ({
  maxAttempts,
  backoffType,
  initialDelay,
}: NonNullable<TaskRequest['retryPolicy']>): RetryPolicy => ({
  maxAttempts,
  backoff: backoffType,
  initialMs: initialDelay,
});

const toExtraFields = (fields: object): JsonObject =>
  Object.keys(fields).length > 0 ? { fields: toJsonObject(fields) } : {};

const toAnswerCommand = (wire: TaskUpdate, sender: string | undefined): Command => {
  const from = resolveSender(undefined, sender, 'id');
  return { ...toMessageIdentity(wire.id, from, wire), kind: 'answer', answer: wire.input };
};

/** A signal that nobody reads goes after a week, as whatever else waits. */
const SIGNAL_TTL_SECONDS = MAX_TTL_SECONDS;

const toSignalCommand = (wire: Signal, sender: string | undefined): DirectMessageCommand => {
  const { signalId, from: said, to, type, payload, timestamp, parley: _ours, ...fields } = wire;
  const from = resolveSender(said, sender, 'from');
  return {
    kind: 'directMessage',
    messageId: signalId,
    givenId: signalId,
    fingerprint: computeFingerprint({ ...omitTaskFormatStamps(toJsonObject(wire)), from }),
    from,
    to,
    type: `${TASK_FORMAT}.${type}`,
    priority: 'normal',
    ttlSeconds: SIGNAL_TTL_SECONDS,
    content: payload,
    extensions: toExtensions({ ...toExtraFields(fields), timestamp }),
  };
};

/** A response has no id of its own: the task, the agent and what it says are what it is known by. */
const toMessageIdentity = (taskId: string, from: string, said: object) => {
  const fingerprint = computeFingerprint(omitTaskFormatStamps(toJsonObject(said)));
  return { messageId: uuidFromSeed(['said', taskId, from, fingerprint]), fingerprint, from, taskId };
};

/** Times and the trace stand in the blocks of a message. */
export const omitTaskFormatStamps = ({ context, metadata, ...message }: JsonObject): JsonObject => ({
  ...omitStamps(message),
  ...(isJsonObject(context) && { context: omitStamps(context) }),
  ...(isJsonObject(metadata) && { metadata: omitTimes(metadata) }),
});

const omitTimes = ({ startedAt: _started, completedAt: _ended, duration_ms: _lasted, ...metadata }: JsonObject) =>
  metadata;

const toReportCommand = (wire: TaskResponse, sender: string | undefined): Command => {
  const { id, status, metadata: aboutTask, observability, artifacts, result, error, input, ...fields } = wire;
  const { agent, progress, message, parley: _ours, ...rest } = aboutTask;
  const from = resolveSender(agent, sender, 'metadata.agent');
  const about = {
    ...toMessageIdentity(id, from, wire),
    isIdentifiedByContent: true as const,
    artifacts: artifacts?.map(toArtifact),
  };
  const told = { ...toExtraFields(fields), ...(observability && { observability: toJsonObject(observability) }) };
  const metadata = toJsonObject({ ...rest, progress, message });
  switch (status) {
    case 'pending':
      return {
        ...about,
        kind: 'claim',
        claimNote: toJsonObject({ ...toExtraFields(fields), ...rest, message, status }),
      };
    case 'in_progress':
      return {
        ...about,
        kind: 'progress',
        progress: { percent: progress, message, extensions: toExtensions({ ...told, metadata: toJsonObject(rest) }) },
      };
    case 'completed':
      return {
        ...about,
        kind: 'complete',
        output: result === undefined ? {} : result,
        extensions: toExtensions({ ...told, metadata }),
      };
    case 'failed': {
      const { code, message: why, details, recoverable, ...more } = error;
      const rule = getRetryRule(code, recoverable);
      return {
        ...about,
        kind: 'fail',
        error: {
          code,
          message: why,
          details,
          ...rule,
          recoverable: recoverable === rule.retryable ? undefined : recoverable,
        },
        extensions: toExtensions({ ...told, metadata, error: toJsonObject(more) }),
      };
    }
    case 'cancelled': {
      const text = message ?? `${from} cancelled the task.`;
      return {
        ...about,
        kind: 'cancel',
        error: { code: CANCELLED_CODE, message: text, retryable: false },
        extensions: toExtensions({ ...told, metadata }),
      };
    }
    case 'input_required': {
      const prompt = input.prompt ?? (message || `${from} needs input.`);
      return {
        ...about,
        kind: 'ask',
        prompt: { ...toJsonObject(input), prompt },
        extensions: toExtensions({ ...told, metadata }),
      };
    }
  }
};

const toArtifact = ({ name, type, content, encoding, ...more }: z.output<typeof ArtifactSchema>): Artifact => ({
  ...toJsonObject(more),
  name,
  type,
  content,
  encoding,
});

/** Under a name of its own, so that other dialects see that it is none of theirs. */
export const TASK_FORMAT = 'task-format';
const toExtensions = (parts: JsonObject): JsonObject => ({ [TASK_FORMAT]: parts });
