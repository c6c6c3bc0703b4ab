import * as z from 'zod';
import type { Config } from '../config/config.ts';
import { DIALECTS } from '../dialects/registry.ts';
import { STATUS_BY_CODE } from '../kernel/errors.ts';
import { findExample } from './examples.ts';
import { listParameters } from './openapi-parameters.ts';
import { OpenApiSchemas, toJsonSchema } from './openapi-schemas.ts';
import { noBody, type Route } from './route.ts';

/** The description of the API, made from the very schemas that requests are checked against. */
export const buildOpenApi = (routes: readonly Route[], config: Config): object => {
  const schemas = new OpenApiSchemas();
  for (const { name, schema } of DIALECTS) schemas.add(name, toJsonSchema(schema, 'input'));
  schemas.describe(ProblemSchema, 'output', 'Problem');
  const paths = Object.fromEntries(
    [...Map.groupBy(routes, ({ path }) => path)].map(([path, members]) => [
      path,
      Object.fromEntries(members.map((route) => [route.method.toLowerCase(), buildOperation(route, config, schemas)])),
    ]),
  );
  return {
    openapi: '3.1.0',
    info: { title: 'Parley', version: '1', description: 'Agents of different makers hand each other work.' },
    tags: [...new Set(routes.map(getResource))].map((name) => ({ name })),
    'x-limits': config.limits,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
      schemas: schemas.named,
    },
    paths,
  };
};

/** Facts that explain it stand beside these. */
export const ProblemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    code: z.enum(Object.keys(STATUS_BY_CODE)),
    retryable: z.boolean(),
    issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'Problem' });

const SYSTEM = 'system';
const FOREIGN = 'other protocols';

/** What a call is about: the first step of its path. */
export const getResource = ({ path, isForeign }: Route): string =>
  isForeign ? FOREIGN : (/^\/v1\/([\w-]+)/.exec(path)?.[1] ?? SYSTEM);

const buildOperation = (route: Route, config: Config, schemas: OpenApiSchemas): object => ({
  operationId: route.operationId,
  tags: [getResource(route)],
  summary: route.summary,
  security: [...(route.mayHaveKey ? [{}] : []), ...(route.scope === undefined ? [] : [{ key: [route.scope] }])],
  parameters: listParameters(route),
  requestBody: hasBody(route) ? buildRequestBody(route, config, schemas) : undefined,
  responses: {
    ...Object.fromEntries(
      Object.entries(route.responses).map(([status, response]) => [
        status,
        { description: response.description, content: buildContent(route, Number(status), schemas) },
      ]),
    ),
    default: { description: 'A problem', headers: PROBLEM_HEADERS, content: PROBLEM_CONTENT },
  },
});

const PROBLEM_CONTENT = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
const PROBLEM_HEADERS = {
  'Retry-After': {
    description: 'seconds until the call is worth repeating, if the problem is retryable',
    schema: { type: 'integer', minimum: 1 },
  },
};

const buildRequestBody = (route: Route, config: Config, schemas: OpenApiSchemas): object => {
  const name = `${toTypeName(route.operationId)}Request`;
  const described = route.describeBody?.(config);
  const maxBytes = route.getMaxBodyBytes(config);
  return {
    description: `At most ${maxBytes} bytes.`,
    required: !route.body.safeParse(undefined).success,
    content: toJsonContent(
      described ? schemas.add(name, described) : schemas.describe(route.body, 'input', name),
      findExample(route.operationId)?.body,
    ),
    'x-max-bytes': maxBytes,
  };
};

const buildContent = ({ operationId, responses }: Route, status: number, schemas: OpenApiSchemas): object => {
  if (status >= 400) return PROBLEM_CONTENT;
  const { schema, otherType } = responses[status] ?? {};
  const name = `${toTypeName(operationId)}Response`;
  const example = findExample(operationId);
  const isFirst = !Object.entries(responses).some(([other, one]) => Number(other) < status && isUnnamed(one.schema));
  return {
    ...(schema &&
      toJsonContent(
        schemas.describe(schema, 'output', isFirst ? name : `${name}${status}`),
        example?.status === status ? example.response : undefined,
      )),
    ...Object.fromEntries([otherType ?? []].flat().map((type) => [type, { schema: describeOther(type) }])),
  };
};

const describeOther = (type: string): object =>
  type.endsWith('+json') ? { type: 'array', items: { type: 'object' } } : { type: 'string' };

const isUnnamed = (schema: z.ZodType | undefined): boolean =>
  schema !== undefined && z.globalRegistry.get(schema)?.id === undefined;

const toJsonContent = (schema: object, example: unknown): object => ({
  'application/json': { schema, ...(example !== undefined && { example }) },
});

const toTypeName = (operationId: string): string => `${operationId.slice(0, 1).toUpperCase()}${operationId.slice(1)}`;

const hasBody = ({ method, body }: Route): boolean => (method === 'POST' || method === 'PUT') && body !== noBody;
