import * as z from 'zod';
import type { Config } from '../config/config.ts';
import { DIALECTS } from '../dialects/registry.ts';
import { STATUS_BY_CODE } from '../kernel/errors.ts';
import { noBody, type Route } from './route.ts';

/** The description of the API, made from the very schemas that requests are checked against. */
export const buildOpenApi = (routes: readonly Route[], config: Config): object => ({
  openapi: '3.1.0',
  info: { title: 'Parley', version: '1', description: 'Agents of different makers hand each other work.' },
  components: {
    securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
    schemas: {
      ...Object.fromEntries(DIALECTS.map(({ name, schema }) => [name, toJsonSchema(schema, 'input')])),
      problem: toJsonSchema(ProblemSchema, 'output'),
    },
  },
  paths: Object.fromEntries(
    [...new Set(routes.map(({ path }) => path))].map((path) => [
      path,
      Object.fromEntries(
        routes
          .filter((route) => route.path === path)
          .map((route) => [route.method.toLowerCase(), buildOperation(route, config)]),
      ),
    ]),
  ),
});

/** Facts that explain it stand beside these. */
export const ProblemSchema = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  code: z.enum(Object.keys(STATUS_BY_CODE)),
  retryable: z.boolean(),
  issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});

const buildOperation = (route: Route, config: Config): object => ({
  summary: route.summary,
  security: route.access === 'open' ? [] : [{ key: [] }],
  parameters: [...listPathParameters(route), ...listQueryParameters(route), ...listHeaderParameters(route)],
  requestBody: hasBody(route)
    ? {
        required: !route.body.safeParse(undefined).success,
        content: toJsonContent(route.describeBody?.(config) ?? toJsonSchema(route.body, 'input')),
      }
    : undefined,
  responses: {
    ...Object.fromEntries(
      Object.entries(route.responses).map(([status, { description, schema, otherType }]) => [
        status,
        {
          description,
          content:
            Number(status) >= 400
              ? PROBLEM_CONTENT
              : {
                  ...(schema && toJsonContent(toJsonSchema(schema, 'output'))),
                  ...(otherType && { [otherType]: { schema: { type: 'string' } } }),
                },
        },
      ]),
    ),
    default: { description: 'A problem', content: PROBLEM_CONTENT },
  },
});

const PROBLEM_CONTENT = { 'application/problem+json': { schema: { $ref: '#/components/schemas/problem' } } };

const toJsonContent = (schema: object): object => ({ 'application/json': { schema } });

const hasBody = ({ method, body }: Route): boolean => (method === 'POST' || method === 'PUT') && body !== noBody;

const listPathParameters = ({ path }: Route): object[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

const listQueryParameters = ({ query }: Route): object[] => {
  const { properties = {}, required = [] } = toJsonSchema(query, 'input');
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
};

const listHeaderParameters = ({ headers = {} }: Route): object[] =>
  Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }));

export const toJsonSchema = (schema: z.ZodType, io: 'input' | 'output') => {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
};
