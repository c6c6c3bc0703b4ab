import type { ParleyErrorCode } from '../../kernel/errors.ts';
import { toObjectOrEmpty } from '../../kernel/json/json.ts';
import { validate } from '../../kernel/json/parse-or-throw.ts';
import type { Dialect } from '../dialect.ts';
import { decode, omitTaskFormatStamps, TASK_FORMAT } from './decode.ts';
import { isTaskFormatManifest, parseTaskFormatManifest } from './manifest.ts';
import {
  hasTaskFormatFieldsOnly,
  hasTaskFormatShape,
  pickSchema,
  TASK_FORMAT_FIELDS,
  TaskFormatMessage,
} from './schema.ts';

/** The task format: requests, responses of six statuses, answers to those that ask for input, and signals. */
export const taskFormatDialect: Dialect = {
  name: TASK_FORMAT,
  isAuditedByDefault: false,
  schema: TaskFormatMessage,
  schemaFile: 'task.schema.json',
  fieldNames: TASK_FORMAT_FIELDS,
  validate: (message) => validate(pickSchema(message), message),
  isRecognized: hasTaskFormatFieldsOnly,
  isRecognizedWithExtraFields: hasTaskFormatShape,
  listCorrelationIds: ({ id, signalId, context }) => [id ?? signalId, toObjectOrEmpty(context).parentTaskId],
  decode,
  parseManifest: parseTaskFormatManifest,
  isManifest: isTaskFormatManifest,
  omitStamps: omitTaskFormatStamps,
  toProtocolError: ({ code, message }) => {
    const known = CODES_BY_PARLEY_CODE[code];
    return known ? { error: { code: known, message, recoverable: false } } : {};
  },
};

/** What the document calls a refusal. */
const CODES_BY_PARLEY_CODE: Partial<Record<ParleyErrorCode, string>> = {
  invalid_message: 'INVALID_INPUT',
  unknown_agent: 'AGENT_NOT_FOUND',
  capability_not_found: 'CAPABILITY_NOT_FOUND',
  delegation_cycle: 'TASK_GRAPH_CYCLE',
  task_graph_cycle: 'TASK_GRAPH_CYCLE',
  invalid_request: 'INVALID_INPUT',
};
