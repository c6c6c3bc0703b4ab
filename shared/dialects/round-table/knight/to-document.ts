import { uuidFromSeed } from '../../../kernel/ids.ts';
import { computeFingerprint } from '../../../kernel/json/fingerprint.ts';
import { isJsonObject, type Json, type JsonObject, toObjectOrEmpty } from '../../../kernel/json/json.ts';

/** Names are written as people write them: `Galahad`. */
export const getKnightName = ({ knight, agentId, from, dispatched_by, metadata }: JsonObject): string | undefined => {
  const said = [knight, agentId, from, toObjectOrEmpty(metadata).from, dispatched_by];
  return said.find((name) => typeof name === 'string')?.toLowerCase();
};

/** By which a knight calls the task. */
export const getKnightTaskId = ({ task_id, taskId, metadata }: JsonObject): string | undefined => {
  const inside = toObjectOrEmpty(metadata);
  return [task_id, taskId, inside.taskId, inside.task_id].find((id) => typeof id === 'string');
};

export const isHeartbeat = ({ type, agentId }: JsonObject): boolean => type === undefined && agentId !== undefined;
export const isTextTask = ({ type, task }: JsonObject): boolean => type === undefined && typeof task === 'string';
export const isReport = (message: JsonObject): boolean => message.type === undefined && saysOutcome(message);
const isEnvelopedReport = ({ type, correlationId }: JsonObject): boolean =>
  (type === 'task.result' || type === 'task.failed') && correlationId == null;

const saysOutcome = (message: JsonObject): boolean =>
  ['success', 'result', 'output', 'error'].some((field) => message[field] != null);

/** A message as knights write it, as the document has it. One of the document stays as it is. */
export const toDocument = (wire: JsonObject, sender: string | undefined): JsonObject => {
  const from = getKnightName(wire) ?? sender;
  if (isHeartbeat(wire)) return toHeartbeat(wire, from);
  if (isTextTask(wire)) return toRequest(wire, from);
  if (isReport(wire)) return { ...toReport(wire), correlationId: getKnightTaskId(wire), from };
  // Its id is that of the task.
  if (isEnvelopedReport(wire)) {
    return { ...wire, ...toReport({ ...wire, payload: undefined }, wire.payload), correlationId: wire.id, from };
  }
  return typeof wire.to === 'string' ? { ...wire, to: wire.to.toLowerCase() } : wire;
};

/** What has no id is known by what it says. */
const toMessageId = (wire: JsonObject, body: Json | undefined): string =>
  uuidFromSeed(['knight', computeFingerprint([wire, body])]);

const toHeartbeat = (wire: JsonObject, from: string | undefined): JsonObject => {
  const { agentId: _agentId, timestamp, ...payload } = wire;
  return { id: toMessageId(wire, undefined), type: 'heartbeat', from, timestamp, payload };
};

const toReport = ({ to, timestamp, type, ...said }: JsonObject, body: Json | undefined = said): JsonObject => ({
  id: toMessageId(said, body),
  type: 'task.result',
  to: typeof to === 'string' ? to.toLowerCase() : undefined,
  timestamp,
  payload: type === 'task.failed' ? toFailurePayload(toFacts(body)) : toReportPayload(body),
});

interface ReportFacts {
  success: boolean | undefined;
  error: Json | undefined;
  value: Json | undefined;
  /** What else it says: how long it took, what it cost. */
  facts: JsonObject;
}

const toFacts = (body: Json | undefined): ReportFacts => {
  if (!isJsonObject(body)) return { success: undefined, error: undefined, value: body, facts: {} };
  const { status, success, result, output, error, ...rest } = body;
  const { knight: _knight, from: _from, task_id: _id, taskId: _ofTask, ...facts } = rest;
  const isFailed =
    success === false || status === 'failed' || status === 'error' || (error != null && success !== true);
  const isDone = success === true || status === 'completed';
  return {
    success: isFailed ? false : isDone || undefined,
    error: error ?? undefined,
    value: result ?? output ?? undefined,
    facts,
  };
};

/** Whatever says nothing of success is a result as a whole. */
const toReportPayload = (body: Json | undefined): JsonObject => {
  const said = toFacts(body);
  if (said.success === false) return toFailurePayload(said);
  const isWhole = isJsonObject(body) && said.value === undefined && said.success === undefined;
  return { status: 'completed', result: isWhole ? body : toResult(said.value, said.facts) };
};

const toFailurePayload = ({ error, value, facts }: ReportFacts): JsonObject => ({
  ...facts,
  status: 'failed',
  error: isErrorCode(error) ? error : 'internal_error',
  message: toFailureMessage(error, value, facts),
});

const toResult = (value: Json | undefined, facts: JsonObject): JsonObject => {
  if (isJsonObject(value)) return value;
  const metadata = Object.keys(facts).length > 0 ? { metadata: facts } : {};
  return { content: value ?? '', ...metadata };
};

/** A text of several words is a message. */
const CODE_PATTERN = /^[a-z][a-z0-9_]{0,63}$/;

const isErrorCode = (error: Json | undefined): error is string => typeof error === 'string' && CODE_PATTERN.test(error);

const MAX_MESSAGE_LENGTH = 4000;

const toFailureMessage = (error: Json | undefined, value: Json | undefined, { message }: JsonObject): string => {
  const texts = isErrorCode(error) ? [message, value, error] : [message, error, value];
  const said = texts.find((text) => typeof text === 'string' && text !== '');
  return typeof said === 'string' ? said.slice(0, MAX_MESSAGE_LENGTH) : 'The task failed.';
};

/** What its domain does with a text. */
const TEXT_ACTION = 'task';

const toRequest = (wire: JsonObject, from: string | undefined): JsonObject => {
  const { task, task_id: _id, taskId: _ofTask, domain, action, dispatched_by: _by, ...rest } = wire;
  const { timeout_ms, timeoutMs } = toObjectOrEmpty(wire.metadata);
  const timeout = [timeout_ms, timeoutMs].find((ms) => typeof ms === 'number' && ms > 0);
  return {
    ...rest,
    id: getKnightTaskId(wire),
    type: 'task.request',
    from,
    ttl: typeof timeout === 'number' ? Math.ceil(timeout / 1000) : wire.ttl,
    payload: {
      task: typeof domain === 'string' ? `${domain}.${typeof action === 'string' ? action : TEXT_ACTION}` : undefined,
      params: { content: task },
    },
  };
};
