import { asUuid, idFrom } from '../../ids.ts';
import { type Outcome, PARLEY } from '../../inbox/delivery.ts';
import { iso } from '../../json/iso.ts';
import { isJsonObject, isObject, type Json, type JsonObject } from '../../json/json.ts';
import type { NoteMessage } from '../../messages/command.ts';
import type { Note } from '../../notes/note.ts';
import type { Reported, Task } from '../../tasks/task.ts';
import { NAME } from './name.ts';
import { nearestCode } from './nearest-code.ts';
import { topicOf } from './schema.ts';

/** Where the sender named none: the first version of the contract, which every later minor one understands. */
const VERSION = '1.0';

export const encodeRequest = (task: Task, input: Json): JsonObject => {
  const topic = topicOf(task.capability, task.domain ?? task.dialect);
  return {
    id: asUuid(task.id),
    version: VERSION,
    type: 'task.request',
    from: task.from,
    to: task.to,
    timestamp: iso(task.createdAt),
    correlationId: task.parent && asUuid(task.parent),
    priority: task.priority,
    ttl: task.ttlSeconds,
    ...part(task.carried, 'envelope'),
    ...foreign({
      ...task.carried,
      taskId: unsaid(task.id),
      capability: topic === task.capability ? undefined : task.capability,
      chain: task.chain,
      retry: task.retry && { ...task.retry },
    }),
    payload: { task: topic, params: asObject(input), ...part(task.carried, 'payload') },
  };
};

export const encodeReport = (task: Reported): JsonObject => {
  const { percent, message, subTasks, carried = {} } = task.progress ?? {};
  return {
    id: idFrom(`${task.id}#${task.v}`),
    version: VERSION,
    type: task.progress ? 'task.progress' : 'task.claimed',
    from: task.holder,
    to: task.from,
    timestamp: iso(task.at),
    correlationId: asUuid(task.id),
    ...part(carried, 'envelope'),
    ...foreign(carried),
    payload: task.progress ? { ...part(carried, 'payload'), percent, message, subTasks } : (task.claimNote ?? {}),
  };
};

export const encodeOutcome = (
  outcome: Outcome,
  output: Json | undefined,
  artifacts: JsonObject[] | undefined,
): JsonObject => ({
  id: outcome.id,
  version: VERSION,
  type: typeOf(outcome),
  from: outcome.from,
  to: outcome.to,
  timestamp: iso(outcome.happenedAt),
  correlationId: asUuid(outcome.task.id),
  priority: outcome.task.priority,
  ttl: outcome.task.ttlSeconds,
  ...(outcome.from === PARLEY ? {} : { ...part(outcome.carried, 'envelope'), ...foreign(outcome.carried) }),
  payload: payloadOf(outcome, output, artifacts),
});

const isDialogue = ({ status }: Outcome): boolean => status === 'input_required' || status === 'claimed';

const typeOf = (outcome: Outcome): string => {
  if (isDialogue(outcome)) return 'task.progress';
  return outcome.status === 'completed' ? 'task.result' : 'task.failed';
};

/** What Round Table has no word for stands under `parley`. */
const payloadOf = (outcome: Outcome, output: Json | undefined, artifacts: JsonObject[] | undefined): JsonObject => {
  const { status, prompt, answer } = outcome;
  if (isDialogue(outcome)) {
    return { message: prompt?.prompt, parley: { status: stageOf(status), input: { ...prompt, answer } } };
  }
  const carried = outcome.from === PARLEY ? {} : outcome.carried;
  const said = {
    taskId: unsaid(outcome.task.id),
    artifacts,
    code: originalCode(outcome),
    details: outcome.error?.details,
  };
  const parley = Object.values(said).some((value) => value !== undefined) ? said : undefined;
  if (status === 'completed') {
    const result = output === undefined ? undefined : asObject(output);
    return { ...part(carried, 'payload'), status, result, parley };
  }
  return { ...part(carried, 'payload'), ...failureOf(outcome), parley };
};

const stageOf = (status: Outcome['status']): string => (status === 'claimed' ? 'input_given' : status);

const originalCode = ({ error, status }: Outcome): string | undefined => {
  if (status === 'cancelled') return status;
  return status === 'failed' && error && nearestCode(error) !== error.code ? error.code : undefined;
};

/** But for broadcasts, Round Table has no message that is not about a task; this one says what it was, and gives it whole. */
export const encodeNote = (note: Note, content: Json): JsonObject => ({
  id: note.id,
  version: VERSION,
  type: broadcastIn(note) ?? 'message',
  from: note.from,
  to: note.to,
  timestamp: iso(note.createdAt),
  correlationId: note.correlation && asUuid(note.correlation),
  priority: note.priority,
  ttl: note.ttlSeconds,
  ...part(note.carried, 'envelope'),
  ...foreign(note.carried),
  payload: broadcastIn(note) ? asObject(content) : { type: note.type, content, ...part(note.carried, 'payload') },
});

/** The message as it was sent to all. */
export const encodeBroadcast = (command: NoteMessage, at: number): JsonObject | undefined => {
  const type = broadcastIn(command);
  if (type === undefined) return undefined;
  return {
    id: command.messageId,
    version: VERSION,
    type,
    from: command.from,
    timestamp: iso(at),
    correlationId: command.correlation === command.messageId ? undefined : command.correlation,
    priority: command.priority,
    ttl: command.ttlSeconds,
    ...part(command.carried, 'envelope'),
    payload: asObject(command.content),
  };
};

/** What the protocol calls it, if it is one of its broadcasts. */
const broadcastIn = ({ type }: Pick<Note, 'type'>): string | undefined =>
  type.startsWith(`${NAME}.broadcast.`) ? type.slice(NAME.length + 1) : undefined;

const failureOf = ({ status, task, error }: Outcome): JsonObject => {
  if (status === 'cancelled') {
    return { error: 'invalid_params', message: `The task ${task.id} was cancelled.`, retryable: false };
  }
  if (status === 'expired') {
    return { error: 'timeout', message: `Nobody claimed the task within ${task.ttlSeconds} s.`, retryable: true };
  }
  if (!error) return { error: 'internal_error', message: 'The task failed.', retryable: false };
  const code = nearestCode(error);
  return {
    error: code,
    message: error.message,
    retryable: error.retryable,
    retryAfterSeconds: error.retryAfterSeconds,
  };
};

/** The task's own id, where it had to be given another. */
const unsaid = (taskId: string): string | undefined => (asUuid(taskId) === taskId ? undefined : taskId);

/** What `decode` put aside; a task that came in another dialect has nothing there. */
const part = (carried: JsonObject, name: 'envelope' | 'payload'): JsonObject => {
  const value = carried[name];
  return isObject(value) ? value : {};
};

/** What other dialects said and this one has no place for, under their names. */
const foreign = ({ envelope: _envelope, payload: _payload, ...parley }: JsonObject): JsonObject =>
  Object.values(parley).some((value) => value !== undefined) ? { parley } : {};

/** Parameters and results are objects here. */
const asObject = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : { content: value });
