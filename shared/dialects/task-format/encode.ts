import { type Outcome, PARLEY } from '../../inbox/delivery.ts';
import { iso } from '../../json/iso.ts';
import { isJsonObject, type Json, type JsonObject } from '../../json/json.ts';
import type { Note } from '../../notes/note.ts';
import type { Priority } from '../../ports/queues.ts';
import { chainOf } from '../../tasks/chain.ts';
import type { Reported, Task } from '../../tasks/task.ts';
import { idsOf } from '../../trace.ts';
import { NAME, TTL_SECONDS } from './decode.ts';
import { nearestCode } from './errors.ts';

export const encodeRequest = (task: Task, input: Json): JsonObject => {
  const { context, routing, observability } = partsOf(task.carried);
  return {
    id: task.id,
    type: task.capability,
    payload: asObject(input),
    context: {
      timestamp: iso(task.createdAt),
      ...context,
      parentTaskId: task.parent,
      priority: spoken(task.priority),
      parley: withAny({
        ttlSeconds: task.ttlSeconds === TTL_SECONDS ? undefined : task.ttlSeconds,
        carried: foreign(task.carried),
      }),
    },
    routing: { ...routing, source: task.from, target: task.to, delegationChain: chainOf(task) },
    observability: { ...(namesTrace(observability) ? {} : idsOf(task.traceparent)), ...observability },
    retryPolicy: task.retry && {
      maxAttempts: task.retry.maxAttempts,
      backoffType: task.retry.backoff,
      initialDelay: task.retry.initialMs,
    },
  };
};

/** Ids that could not be read were put aside, and are given back alone. */
const namesTrace = ({ traceId, spanId }: JsonObject): boolean => traceId !== undefined || spanId !== undefined;

/** Task Format has no message that is not about a task: this one looks like a request that nobody can claim. */
export const encodeNote = (note: Note, content: Json): JsonObject => {
  const { id, type, from, to, priority, ttlSeconds, correlation } = note;
  return {
    id,
    type,
    payload: asObject(content),
    context: {
      timestamp: iso(note.createdAt),
      priority: spoken(priority),
      parley: { isNote: true, correlation, ttlSeconds, carried: foreign(note.carried) },
    },
    routing: { source: from, target: to },
    observability: idsOf(note.traceparent),
  };
};

const spoken = (priority: Priority): string => (priority === 'critical' ? 'urgent' : priority);

const asObject = (content: Json): JsonObject => (isJsonObject(content) ? content : { content });

/** What the holder of an open task said last. */
export const encodeReport = (task: Reported): JsonObject => {
  const { percent, message, subTasks, carried = {} } = task.progress ?? {};
  const note = task.progress ? {} : task.claimNote;
  return {
    id: task.id,
    status: task.progress ? 'in_progress' : 'pending',
    metadata: {
      ...note,
      startedAt: maybeIso(task.claimedAt),
      retryCount: retriesOf(task),
      agent: task.holder,
      progress: percent,
      message: message ?? note?.message,
      ...partsOf(carried).metadata,
      parley: withAny({ subTasks, carried: foreign(carried) }),
    },
  };
};

export const encodeOutcome = (
  outcome: Outcome,
  output: Json | undefined,
  artifacts: JsonObject[] | undefined,
): JsonObject => {
  const { task, status, carried, prompt } = outcome;
  const { metadata, error, status: said } = partsOf(outcome.from === PARLEY ? {} : carried);
  const isEnd = status !== 'input_required' && status !== 'claimed';
  const about = {
    startedAt: maybeIso(task.claimedAt),
    completedAt: isEnd ? iso(outcome.happenedAt) : undefined,
    duration_ms: isEnd && task.claimedAt !== undefined ? outcome.happenedAt - task.claimedAt : undefined,
    retryCount: retriesOf(task),
    ...metadata,
    agent: outcome.from === PARLEY ? task.holder : outcome.from,
    parley: {
      messageId: outcome.id,
      carried: outcome.from === PARLEY ? undefined : foreign(carried),
      ...originalCode(outcome),
    },
  };
  if (status === 'claimed') return { id: task.id, input: { ...prompt, answer: outcome.answer } };
  if (status === 'input_required') return { id: task.id, status, input: prompt, metadata: about };
  if (status === 'completed') return { id: task.id, status, result: output, artifacts, metadata: about };
  if (status === 'cancelled' || said === 'cancelled') return { id: task.id, status: 'cancelled', metadata: about };
  return { id: task.id, status: 'failed', error: { ...errorOf(outcome), ...error }, metadata: about };
};

const errorOf = (outcome: Outcome): JsonObject => {
  const { status, task, error } = outcome;
  if (status === 'expired') {
    return { code: 'TIMEOUT', message: `Nobody claimed the task within ${task.ttlSeconds} s.`, recoverable: true };
  }
  return {
    code: codeOf(outcome),
    message: error?.message ?? 'The task failed.',
    details: error?.details,
    recoverable: error?.retryable ?? false,
  };
};

/** Agents of this dialect may use any code; theirs stay what they are. */
const codeOf = ({ error, from, carried }: Outcome): string => {
  const { code } = error ?? { code: 'INTERNAL_ERROR' };
  return from !== PARLEY && NAME in carried ? code : nearestCode(code);
};

const originalCode = (outcome: Outcome): JsonObject =>
  outcome.error && codeOf(outcome) !== outcome.error.code ? { errorCode: outcome.error.code } : {};

const retriesOf = ({ attempt }: Pick<Task, 'attempt'>): number => Math.max(0, attempt - 1);

/** What `decode` put aside. */
const partsOf = (carried: JsonObject) => {
  const parts = own(carried, NAME);
  const part = (name: string): JsonObject => own(parts, name);
  return {
    context: part('context'),
    routing: part('routing'),
    observability: part('observability'),
    metadata: part('metadata'),
    error: part('error'),
    status: parts.status,
  };
};

const own = (carried: JsonObject, name: string): JsonObject => {
  const value = carried[name];
  return isJsonObject(value) ? value : {};
};

/** What other dialects said and this one has no place for, under their names. */
const foreign = ({ [NAME]: _own, ...others }: JsonObject): JsonObject | undefined => withAny(others);

const withAny = (value: JsonObject): JsonObject | undefined =>
  Object.values(value).some((member) => member !== undefined) ? value : undefined;
const maybeIso = (at: number | undefined): string | undefined => (at === undefined ? undefined : iso(at));
