import { SYSTEM_SENDER } from '../../kernel/ids.ts';
import { isJsonObject, type Json, type JsonObject, toObjectOrEmpty } from '../../kernel/json/json.ts';
import { decodeBaggage, parseTraceIds, type Trace } from '../../kernel/trace.ts';
import { formatExpiry, isCancelled, type TaskOutcome } from '../../model/delivery.ts';
import type { DirectMessage } from '../../model/direct-message.ts';
import { getDelegationChain, type ReportedTask, type Task, type TaskError } from '../../model/task.ts';
import { toIso } from '../../ports/clock.ts';
import type { Priority } from '../../ports/queues.ts';
import { TASK_FORMAT, TASK_FORMAT_TTL_SECONDS } from './decode.ts';
import { toTaskFormatErrorCode } from './error-codes.ts';

export const encodeRequest = (task: Task, input: Json, results?: JsonObject): JsonObject => {
  const { fields, context, routing, observability } = parseExtensions(task.extensions);
  return {
    ...fields,
    id: task.id,
    type: task.capability,
    payload: toContentObject(input),
    context: {
      timestamp: toIso(task.createdAt),
      conversationId: task.conversation,
      user: task.user,
      ...context,
      parentTaskId: task.parent,
      priority: toWirePriority(task.priority),
      ...(results && { results }),
      parley: omitIfEmpty({
        ttlSeconds: task.ttlSeconds === TASK_FORMAT_TTL_SECONDS ? undefined : task.ttlSeconds,
        carried: pickForeignExtensions(task.extensions),
        lastError: task.error && toErrorFields(task.error, toTaskFormatErrorCode(task.error.code)),
      }),
    },
    routing: { ...routing, source: task.from, target: task.to, delegationChain: getDelegationChain(task) },
    observability: buildObservability(task, observability),
    retryPolicy: task.retry && {
      maxAttempts: task.retry.maxAttempts,
      backoffType: task.retry.backoff,
      initialDelay: task.retry.initialMs,
    },
  };
};

/** Ids that could not be read were put aside, and are given back alone. */
const buildObservability = (
  { traceparent, baggage }: Trace,
  { traceId, spanId, ...said }: JsonObject = {},
): JsonObject => ({
  ...(traceId === undefined && spanId === undefined ? parseTraceIds(traceparent) : { traceId, spanId }),
  baggage: decodeBaggage(baggage),
  ...said,
});

/** Whatever is no task is a signal, whoever sent it. */
export const encodeDirectMessage = (directMessage: DirectMessage, content: Json): JsonObject => {
  const { id, type, from, to, priority, ttlSeconds, correlation, extensions } = directMessage;
  const { fields, timestamp } = parseExtensions(extensions);
  const isOwn = type.startsWith(`${TASK_FORMAT}.`);
  return {
    ...fields,
    signalId: id,
    from,
    to,
    type: isOwn ? type.slice(TASK_FORMAT.length + 1) : type,
    payload: toContentObject(content),
    timestamp: timestamp ?? toIso(directMessage.createdAt),
    ...(!isOwn && {
      observability: buildObservability(directMessage),
      parley: omitIfEmpty({
        priority: toWirePriority(priority),
        ttlSeconds,
        correlation,
        carried: pickForeignExtensions(extensions),
      }),
    }),
  };
};

const toWirePriority = (priority: Priority): string => (priority === 'critical' ? 'urgent' : priority);

const toContentObject = (content: Json): JsonObject => (isJsonObject(content) ? content : { content });

/** What the holder of an open task said last. */
export const encodeReport = (task: ReportedTask): JsonObject => {
  const { percent, message, subTasks, extensions = {} } = task.progress ?? {};
  const { fields, status: _pending, ...note } = (task.progress ? undefined : task.claimNote) ?? {};
  const said = parseExtensions(extensions);
  return {
    ...toObjectOrEmpty(fields),
    ...said.fields,
    id: task.id,
    status: task.progress ? 'in_progress' : 'pending',
    metadata: {
      ...note,
      startedAt: toIsoOrUndefined(task.claimedAt),
      retryCount: countRetries(task),
      agent: task.holder,
      progress: percent,
      message: message ?? note.message ?? formatFailedAttempt(task),
      ...said.metadata,
      parley: omitIfEmpty({ subTasks, carried: pickForeignExtensions(extensions) }),
    },
    observability: buildObservability(task),
  };
};

/** Its status would be read as the end. */
const formatFailedAttempt = ({ failedAttempt, attempt }: ReportedTask): string | undefined =>
  failedAttempt && `Attempt ${attempt} failed, and the task is tried again: ${failedAttempt.message}`;

export const encodeOutcome = (
  outcome: TaskOutcome,
  output: Json | undefined,
  artifacts: JsonObject[] | undefined,
): JsonObject => {
  const { task, status, extensions, prompt } = outcome;
  const {
    fields,
    metadata,
    error,
    observability: saidTrace,
  } = parseExtensions(outcome.from === SYSTEM_SENDER ? {} : extensions);
  const isEnd = status !== 'input_required' && status !== 'claimed';
  const about = {
    startedAt: toIsoOrUndefined(task.claimedAt),
    completedAt: isEnd ? toIso(outcome.happenedAt) : undefined,
    duration_ms: isEnd && task.claimedAt !== undefined ? outcome.happenedAt - task.claimedAt : undefined,
    retryCount: countRetries(task),
    ...metadata,
    agent: outcome.from === SYSTEM_SENDER ? task.holder : outcome.from,
    parley: {
      messageId: outcome.id,
      carried: outcome.from === SYSTEM_SENDER ? undefined : pickForeignExtensions(extensions),
      ...pickOriginalCode(outcome),
    },
  };
  const observability = buildObservability(task, saidTrace);
  if (status === 'claimed') return { id: task.id, input: { ...prompt, answer: outcome.answer } };
  const whole = (how: string, what: JsonObject): JsonObject => ({
    ...fields,
    id: task.id,
    status: how,
    ...what,
    artifacts,
    metadata: { message: how === 'cancelled' ? outcome.error?.message : undefined, ...about },
    observability,
  });
  if (status === 'input_required') return whole(status, { input: prompt });
  if (status === 'completed') return whole(status, { result: output });
  if (isCancelled(outcome)) return whole('cancelled', {});
  return whole('failed', { error: { ...buildErrorBlock(outcome), ...error } });
};

const buildErrorBlock = (outcome: TaskOutcome): JsonObject => {
  const { status, task, error } = outcome;
  if (status === 'expired') {
    return { code: 'TIMEOUT', message: formatExpiry(task), recoverable: true };
  }
  const code = getWireErrorCode(outcome);
  return error ? toErrorFields(error, code) : { code, message: 'The task failed.', recoverable: false };
};

const toErrorFields = ({ message, details, retryable, recoverable }: TaskError, code: string): JsonObject => ({
  code,
  message,
  details,
  recoverable: recoverable ?? retryable,
});

/** Agents of this dialect may use any code; theirs stay what they are. */
const getWireErrorCode = ({ error, from, extensions }: TaskOutcome): string => {
  const { code } = error ?? { code: 'INTERNAL_ERROR' };
  return from !== SYSTEM_SENDER && TASK_FORMAT in extensions ? code : toTaskFormatErrorCode(code);
};

const pickOriginalCode = (outcome: TaskOutcome): JsonObject =>
  outcome.error && getWireErrorCode(outcome) !== outcome.error.code ? { errorCode: outcome.error.code } : {};

const countRetries = ({ attempt }: Pick<Task, 'attempt'>): number => Math.max(0, attempt - 1);

/** What `decode` put aside. */
const parseExtensions = (extensions: JsonObject) => {
  const parts = pickObject(extensions, TASK_FORMAT);
  const part = (name: string): JsonObject => pickObject(parts, name);
  return {
    fields: part('fields'),
    context: part('context'),
    routing: part('routing'),
    observability: part('observability'),
    metadata: part('metadata'),
    error: part('error'),
    timestamp: parts.timestamp,
  };
};

const pickObject = (extensions: JsonObject, name: string): JsonObject => {
  const value = extensions[name];
  return isJsonObject(value) ? value : {};
};

/** What other dialects said and this one has no place for, under their names. */
const pickForeignExtensions = ({ [TASK_FORMAT]: _own, ...others }: JsonObject): JsonObject | undefined =>
  omitIfEmpty(others);

const omitIfEmpty = (value: JsonObject): JsonObject | undefined =>
  Object.values(value).some((member) => member !== undefined) ? value : undefined;
const toIsoOrUndefined = (at: number | undefined): string | undefined => (at === undefined ? undefined : toIso(at));
