import { DIALECT_NAMES } from '../dialects/registry.ts';
import { IDEMPOTENCY_KEY_PATTERN } from '../ingest/idempotency-header.ts';
import { findExample } from './examples.ts';
import { toJsonSchema } from './openapi-schemas.ts';
import { MAX_PARAM_BYTES, MAX_PARAM_LENGTH, type Route } from './route.ts';

export const listParameters = (route: Route): object[] => [
  ...listPathParameters(route),
  ...listQueryParameters(route),
  ...listHeaderParameters(route),
];

const PATH_PARAMETER = {
  description: `at most ${MAX_PARAM_LENGTH} characters in ${MAX_PARAM_BYTES} bytes`,
  schema: { type: 'string', minLength: 1, maxLength: MAX_PARAM_LENGTH },
};

const listPathParameters = ({ path, operationId }: Route): object[] => {
  const { params } = findExample(operationId) ?? {};
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    ...PATH_PARAMETER,
    example: params?.[name],
  }));
};

const listQueryParameters = ({ query, operationId }: Route): object[] => {
  const example = findExample(operationId);
  const { properties = {}, required = [] } = toJsonSchema(query, 'input');
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
    example: example?.query?.[name],
  }));
};

/** Node.js takes 16 KiB of headers with a request. */
const MAX_HEADER_LENGTH = 8192;

const HEADER_SCHEMAS: Record<string, object> = {
  'Parley-Dialect': { type: 'string', enum: DIALECT_NAMES },
  'Parley-Broadcast': { type: 'string', pattern: '^(all|capability:.+|domain:.+)$', maxLength: 256 },
  'Idempotency-Key': { type: 'string', pattern: IDEMPOTENCY_KEY_PATTERN, minLength: 1, maxLength: 255 },
  'Parley-Timestamp': { type: 'string', format: 'date-time' },
};

const listHeaderParameters = ({ headers = {} }: Route): object[] =>
  Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: HEADER_SCHEMAS[name] ?? { type: 'string', maxLength: MAX_HEADER_LENGTH },
  }));
