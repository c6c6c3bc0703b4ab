import { validate } from '../../kernel/json/parse-or-throw.ts';
import type { Dialect } from '../dialect.ts';
import { decode, NATIVE } from './decode.ts';
import { FIELD_NAMES, KINDS, NativeMessage, pickNativeSchema } from './schema.ts';

/** Parley's own words, for SDKs: each command of the core as one message, with nothing beside it. */
export const nativeDialect: Dialect = {
  name: NATIVE,
  isAuditedByDefault: false,
  schema: NativeMessage,
  fieldNames: FIELD_NAMES,
  validate: (message) => validate(pickNativeSchema(message.kind), message),
  isRecognized: ({ kind }) => typeof kind === 'string' && KINDS.includes(kind),
  listCorrelationIds: ({ id, taskId, parent }) => [id, taskId, parent],
  listDependencyIds: ({ dependencies }) => (Array.isArray(dependencies) ? dependencies : []),
  decode,
};
