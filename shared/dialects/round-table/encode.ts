import { SYSTEM_SENDER, toUuid, uuidFromSeed } from '../../kernel/ids.ts';
import { isJsonObject, isObject, type Json, type JsonObject } from '../../kernel/json/json.ts';
import type { DirectMessageCommand } from '../../model/command.ts';
import { formatExpiry, type TaskOutcome } from '../../model/delivery.ts';
import type { DirectMessage } from '../../model/direct-message.ts';
import type { ReportedTask, Task, TaskError } from '../../model/task.ts';
import { toIso } from '../../ports/clock.ts';
import { toRoundTableErrorCode } from './error-codes.ts';
import { ROUND_TABLE } from './name.ts';
import { toTopic } from './schema.ts';

/** Where the sender named none: the first version of the contract, which every later minor one understands. */
const DEFAULT_VERSION = '1.0';

export const encodeRequest = (task: Task, input: Json, results?: JsonObject): JsonObject => {
  const topic = toTopic(task.capability, task.domain ?? task.dialect);
  return {
    id: toUuid(task.id),
    version: DEFAULT_VERSION,
    type: 'task.request',
    from: task.from,
    to: task.to,
    timestamp: toIso(task.createdAt),
    correlationId: task.parent && toUuid(task.parent),
    priority: task.priority,
    ttl: task.ttlSeconds,
    ...pickExtensionsPart(task.extensions, 'envelope'),
    ...pickForeignExtensions({
      ...task.extensions,
      taskId: toOriginalTaskId(task.id),
      capability: topic === task.capability ? undefined : task.capability,
      chain: task.delegationChain,
      retry: task.retry && { ...task.retry },
      lastError: task.error && toFailureFields(task.error, toRoundTableErrorCode(task.error.code)),
    }),
    payload: {
      task: topic,
      params: toContentObject(input),
      ...pickExtensionsPart(task.extensions, 'payload'),
      ...(results && { results }),
    },
  };
};

export const encodeReport = (task: ReportedTask): JsonObject => {
  const { percent, message, subTasks, extensions = {} } = task.progress ?? {};
  const { failedAttempt } = task;
  return {
    id: task.reportId ?? uuidFromSeed(['report', task.id, task.v]),
    version: DEFAULT_VERSION,
    type: toReportType(task),
    from: failedAttempt?.agent ?? task.holder,
    to: task.from,
    timestamp: toIso(task.at),
    correlationId: toUuid(task.id),
    ...pickExtensionsPart(extensions, 'envelope'),
    ...pickForeignExtensions(extensions),
    payload: task.progress
      ? { ...pickExtensionsPart(extensions, 'payload'), percent, message, subTasks }
      : failedAttempt
        ? toFailureFields(failedAttempt, toRoundTableErrorCode(failedAttempt.code))
        : (task.claimNote ?? {}),
  };
};

const toReportType = ({ failedAttempt, progress }: ReportedTask): string => {
  if (failedAttempt) return 'task.failed';
  return progress ? 'task.progress' : 'task.claimed';
};

export const encodeOutcome = (
  outcome: TaskOutcome,
  output: Json | undefined,
  artifacts: JsonObject[] | undefined,
): JsonObject => ({
  id: outcome.id,
  version: DEFAULT_VERSION,
  type: toMessageType(outcome),
  from: outcome.from,
  to: outcome.to,
  timestamp: toIso(outcome.happenedAt),
  correlationId: toUuid(outcome.task.id),
  priority: outcome.task.priority,
  ttl: outcome.task.ttlSeconds,
  ...(outcome.from === SYSTEM_SENDER
    ? {}
    : { ...pickExtensionsPart(outcome.extensions, 'envelope'), ...pickForeignExtensions(outcome.extensions) }),
  payload: buildOutcomePayload(outcome, output, artifacts),
});

const isDialogue = ({ status }: TaskOutcome): boolean => status === 'input_required' || status === 'claimed';

const toMessageType = (outcome: TaskOutcome): string => {
  if (isDialogue(outcome)) return 'task.progress';
  return outcome.status === 'completed' ? 'task.result' : 'task.failed';
};

/** What Round Table has no word for stands under `parley`. */
const buildOutcomePayload = (
  outcome: TaskOutcome,
  output: Json | undefined,
  artifacts: JsonObject[] | undefined,
): JsonObject => {
  const { status, prompt, answer } = outcome;
  if (isDialogue(outcome)) {
    const message = status === 'claimed' ? formatAnswer(answer) : prompt?.prompt;
    return { message, parley: { status: toDialogueStatus(status), input: { ...prompt, answer } } };
  }
  const extensions = outcome.from === SYSTEM_SENDER ? {} : outcome.extensions;
  const said = {
    taskId: toOriginalTaskId(outcome.task.id),
    artifacts,
    code: pickOriginalCode(outcome),
    details: outcome.error?.details,
  };
  const parley = Object.values(said).some((value) => value !== undefined) ? said : undefined;
  if (status === 'completed') {
    const result = output === undefined ? undefined : toContentObject(output);
    return { ...pickExtensionsPart(extensions, 'payload'), status, result, parley };
  }
  return { ...pickExtensionsPart(extensions, 'payload'), ...buildFailurePayload(outcome), parley };
};

const formatAnswer = (answer: Json = null): string => (typeof answer === 'string' ? answer : JSON.stringify(answer));

const toDialogueStatus = (status: TaskOutcome['status']): string => (status === 'claimed' ? 'input_given' : status);

const pickOriginalCode = (outcome: TaskOutcome): string | undefined => {
  const { error, status } = outcome;
  return status === 'failed' && error && getWireErrorCode(outcome, error) !== error.code ? error.code : undefined;
};

/** Agents of this dialect may use any code; theirs stay what they are. */
const getWireErrorCode = ({ from, extensions }: TaskOutcome, { code }: TaskError): string =>
  from !== SYSTEM_SENDER && 'envelope' in extensions ? code : toRoundTableErrorCode(code);

/** But for broadcasts, Round Table has no message that is not about a task; this one says what it was, and gives it whole. */
export const encodeDirectMessage = (directMessage: DirectMessage, content: Json): JsonObject => ({
  id: directMessage.id,
  version: DEFAULT_VERSION,
  type: parseBroadcastType(directMessage) ?? 'message',
  from: directMessage.from,
  to: directMessage.to,
  timestamp: toIso(directMessage.createdAt),
  correlationId: directMessage.correlation && toUuid(directMessage.correlation),
  priority: directMessage.priority,
  ttl: directMessage.ttlSeconds,
  ...pickExtensionsPart(directMessage.extensions, 'envelope'),
  ...pickForeignExtensions(directMessage.extensions),
  payload: parseBroadcastType(directMessage)
    ? toContentObject(content)
    : { type: directMessage.type, content, ...pickExtensionsPart(directMessage.extensions, 'payload') },
});

/** The message as it was sent to all. */
export const encodeBroadcast = (command: DirectMessageCommand, at: number): JsonObject | undefined => {
  const type = parseBroadcastType(command);
  if (type === undefined) return undefined;
  return {
    id: command.messageId,
    version: DEFAULT_VERSION,
    type,
    from: command.from,
    timestamp: toIso(at),
    correlationId: command.correlation === command.messageId ? undefined : command.correlation,
    priority: command.priority,
    ttl: command.ttlSeconds,
    ...pickExtensionsPart(command.extensions, 'envelope'),
    payload: toContentObject(command.content),
  };
};

/** What the protocol calls it, if it is one of its broadcasts. */
const parseBroadcastType = ({ type }: Pick<DirectMessage, 'type'>): string | undefined =>
  type.startsWith(`${ROUND_TABLE}.broadcast.`) ? type.slice(ROUND_TABLE.length + 1) : undefined;

const buildFailurePayload = (outcome: TaskOutcome): JsonObject => {
  const { status, task, error } = outcome;
  if (status === 'cancelled') {
    return { error: 'cancelled', message: `The task ${task.id} was cancelled.`, retryable: false };
  }
  if (status === 'expired') {
    return { error: 'timeout', message: formatExpiry(task), retryable: true };
  }
  if (!error) return { error: 'internal_error', message: 'The task failed.', retryable: false };
  return toFailureFields(error, getWireErrorCode(outcome, error));
};

const toFailureFields = ({ message, retryable, retryAfterSeconds }: TaskError, code: string): JsonObject => ({
  error: code,
  message,
  retryable,
  retryAfterSeconds,
});

/** The task's own id, where it had to be given another. */
const toOriginalTaskId = (taskId: string): string | undefined => (toUuid(taskId) === taskId ? undefined : taskId);

/** What `decode` put aside; a task that came in another dialect has nothing there. */
const pickExtensionsPart = (extensions: JsonObject, name: 'envelope' | 'payload'): JsonObject => {
  const value = extensions[name];
  return isObject(value) ? value : {};
};

/** What other dialects said and this one has no place for, under their names. */
const pickForeignExtensions = ({ envelope: _envelope, payload: _payload, ...parley }: JsonObject): JsonObject =>
  Object.values(parley).some((value) => value !== undefined) ? { parley } : {};

/** Parameters and results are objects here. */
const toContentObject = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : { content: value });
