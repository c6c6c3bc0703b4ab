import { isJsonObject, type Json, type JsonObject, toObjectOrEmpty } from '../../../kernel/json/json.ts';
import type { Encoder } from '../../dialect.ts';
import * as document from '../encode.ts';
import { toKnightTaskId } from './task-id.ts';

export { encodeBroadcast, encodeDirectMessage, encodeReport } from '../encode.ts';

/** The message of the document, and beside it what knights read: the task as a text, its id, its domain and their time for it. */
export const encodeRequest: Encoder['encodeRequest'] = (task, input, results) => {
  const message = document.encodeRequest(task, input, results);
  const id = toKnightTaskId(task.id);
  const metadata = toObjectOrEmpty(message.metadata);
  return {
    ...message,
    id,
    correlationId: task.parent && toKnightTaskId(task.parent),
    task: toText(toObjectOrEmpty(message.payload)),
    taskId: id,
    task_id: id,
    domain: task.domain,
    metadata: { ...metadata, timeout_ms: metadata.timeout_ms ?? task.deadline - task.queuedAt },
  };
};

/** Knights hand it to a language model. */
const toText = ({ task, ...payload }: JsonObject): string => {
  const { content, ...params } = toObjectOrEmpty(payload.params);
  const isTextAlone = typeof content === 'string' && Object.keys(params).length + Object.keys(payload).length === 1;
  return isTextAlone ? content : `${task}\n\n${JSON.stringify(payload)}`;
};

export const encodeOutcome: Encoder['encodeOutcome'] = (outcome, output, artifacts) => {
  const message = document.encodeOutcome(outcome, output, artifacts);
  const id = toKnightTaskId(outcome.task.id);
  const { replySubject } = toObjectOrEmpty(outcome.task.extensions.envelope);
  const about = { ...message, correlationId: id, taskId: id, task_id: id, knight: outcome.from };
  if (message.type === 'task.progress') return about;
  if (message.type === 'task.result') {
    const text = toResultText(output);
    return { ...about, replySubject, success: true, output: text, result: text };
  }
  const { message: error } = toObjectOrEmpty(message.payload);
  return { ...about, replySubject, success: false, output: error, result: error, error };
};

const toResultText = (output: Json | undefined): string => {
  if (typeof output === 'string') return output;
  const content = isJsonObject(output) ? output.content : undefined;
  return typeof content === 'string' ? content : JSON.stringify(output ?? {});
};
