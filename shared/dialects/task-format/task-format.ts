import type { Code } from '../../errors.ts';
import { complaints } from '../../json/checked.ts';
import { objectIn } from '../../json/json.ts';
import type { Dialect } from '../dialect.ts';
import { decode, NAME } from './decode.ts';
import { hasOwnKeysOnly, KEYS, shapeOf, TaskFormatMessage } from './schema.ts';

/** The task format: requests, responses of six statuses, and answers to those that ask for input. */
export const taskFormat: Dialect = {
  name: NAME,
  isLogged: false,
  schema: TaskFormatMessage,
  schemaFile: 'task.schema.json',
  keys: KEYS,
  complaints: (message) => complaints(shapeOf(message), message),
  recognises: hasOwnKeysOnly,
  names: ({ id, context }) => [id, objectIn(context).parentTaskId],
  decode,
  explained: ({ code, message }) => {
    const known = PROBLEMS[code];
    return known ? { error: { code: known, message, recoverable: false } } : {};
  },
};

/** What the document calls a refusal. */
const PROBLEMS: Partial<Record<Code, string>> = {
  invalid_message: 'INVALID_INPUT',
  unknown_agent: 'AGENT_NOT_FOUND',
  capability_not_found: 'CAPABILITY_NOT_FOUND',
  delegation_cycle: 'TASK_GRAPH_CYCLE',
  task_graph_cycle: 'TASK_GRAPH_CYCLE',
  invalid_request: 'INVALID_INPUT',
};
