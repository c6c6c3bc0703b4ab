import { type JsonObject, toObjectOrEmpty } from '../../../kernel/json/json.ts';
import type { Encoder } from '../../dialect.ts';
import * as document from '../encode.ts';
import { CFN } from './schema.ts';

/** As the bus writes it: what came from such a bus as it was, with times in seconds, by which its readers sort. */
const toBus = (message: JsonObject, extensions: JsonObject, task: JsonObject = {}): JsonObject => {
  const { timestamp, correlation_id } = message;
  const { msg_id: taskId } = toObjectOrEmpty(task[CFN]);
  return {
    ...message,
    ...(typeof timestamp === 'string' && { timestamp: Math.floor(Date.parse(timestamp) / 1000) }),
    ...(correlation_id !== undefined && { correlation_id: taskId ?? correlation_id }),
    ...toObjectOrEmpty(extensions[CFN]),
  };
};

export const encodeRequest: Encoder['encodeRequest'] = (task, input, results) =>
  toBus(document.encodeRequest(task, input, results), task.extensions);

export const encodeReport: Encoder['encodeReport'] = (task) =>
  toBus(document.encodeReport(task), task.progress?.extensions ?? {}, task.extensions);

export const encodeOutcome: Encoder['encodeOutcome'] = (outcome, output, artifacts) =>
  toBus(document.encodeOutcome(outcome, output, artifacts), outcome.extensions, outcome.task.extensions);

export const encodeDirectMessage: Encoder['encodeDirectMessage'] = (directMessage, content) => {
  const { type, extensions } = directMessage;
  const message = toBus(document.encodeDirectMessage(directMessage, content), extensions);
  return type.startsWith(`${CFN}.`) ? { ...message, type: type.slice(CFN.length + 1), payload: content } : message;
};
