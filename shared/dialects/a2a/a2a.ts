import { isObject, type Json, toObjectOrEmpty } from '../../kernel/json/json.ts';
import { validate } from '../../kernel/json/parse-or-throw.ts';
import type { Dialect } from '../dialect.ts';
import { A2A, decode } from './decode.ts';
import { A2A_FIELD_NAMES, A2aDialectMessage, pickA2aSchema } from './schema.ts';
import { toTaskState } from './states.ts';
import { getStatusTime } from './status-time.ts';

/** A2A 1.0, in its own JSON: what clients send, and what servers stream. */
export const a2aDialect: Dialect = {
  name: A2A,
  isAuditedByDefault: false,
  callsAgents: true,
  schema: A2aDialectMessage,
  fieldNames: A2A_FIELD_NAMES,
  validate: (message) => validate(pickA2aSchema(message), message),
  isRecognized: ({ message, statusUpdate, artifactUpdate, task }) =>
    hasField(message, 'messageId') ||
    hasField(statusUpdate, 'taskId') ||
    hasField(artifactUpdate, 'taskId') ||
    hasField(task, 'status'),
  listCorrelationIds: ({ message, statusUpdate, artifactUpdate, task }) => [
    toObjectOrEmpty(message).messageId,
    toObjectOrEmpty(message).taskId,
    toObjectOrEmpty(statusUpdate).taskId,
    toObjectOrEmpty(artifactUpdate).taskId,
    toObjectOrEmpty(task).id,
  ],
  listDependencyIds: ({ message, metadata }) =>
    [message, metadata].flatMap((place) => {
      const said = toObjectOrEmpty(place === message ? toObjectOrEmpty(message).metadata : place).parley;
      const { dependencies } = toObjectOrEmpty(said);
      return Array.isArray(dependencies) ? dependencies : [];
    }),
  decode,
  referToTask: (extensions, taskId) => {
    const own = toObjectOrEmpty(extensions[A2A]);
    const known = Array.isArray(own.referenceTaskIds) ? own.referenceTaskIds : [];
    // The message was sent once: this one has an id of its own.
    return { ...extensions, [A2A]: { ...own, messageId: undefined, referenceTaskIds: [...known, taskId] } };
  },
  describeForListing: (task) => {
    const { agent } = toObjectOrEmpty(task.extensions[A2A]);
    return {
      ...(typeof agent === 'string' && { address: agent }),
      status: toTaskState(task),
      conversation: task.conversation ?? task.id,
      changedAt: getStatusTime(task),
    };
  },
};

const hasField = (value: Json | undefined, name: string): boolean => isObject(value) && name in value;
