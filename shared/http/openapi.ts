import * as z from 'zod';
import { dialects } from '../dialects/dialects.ts';
import { CODES } from '../errors.ts';
import type { Route } from './route.ts';

/** The description of the API, made from the very schemas that requests are checked against. */
export const openApi = (routes: readonly Route[]): object => ({
  openapi: '3.1.0',
  info: { title: 'Parley', version: '1', description: 'Agents of different makers hand each other work.' },
  components: {
    securitySchemes: { key: { type: 'http', scheme: 'bearer' } },
    schemas: {
      ...Object.fromEntries(dialects.map(({ name, schema }) => [name, jsonSchema(schema, 'input')])),
      problem: jsonSchema(Problem, 'output'),
    },
  },
  paths: Object.fromEntries(
    [...new Set(routes.map(({ path }) => path))].map((path) => [
      path,
      Object.fromEntries(
        routes.filter((route) => route.path === path).map((route) => [route.method.toLowerCase(), operation(route)]),
      ),
    ]),
  ),
});

/** Facts that explain it stand beside these. */
export const Problem = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  code: z.enum(Object.keys(CODES)),
  retry: z.enum(['never', 'later']),
  issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});

const operation = (route: Route): object => ({
  summary: route.summary,
  security: route.access === 'open' ? [] : [{ key: [] }],
  parameters: [...pathParameters(route), ...queryParameters(route), ...headerParameters(route)],
  requestBody: hasBody(route)
    ? { required: !route.body.safeParse(undefined).success, content: json(jsonSchema(route.body, 'input')) }
    : undefined,
  responses: {
    ...Object.fromEntries(
      Object.entries(route.answers).map(([status, { description, schema, otherType }]) => [
        status,
        {
          description,
          content:
            Number(status) >= 400
              ? problem
              : {
                  ...(schema && json(jsonSchema(schema, 'output'))),
                  ...(otherType && { [otherType]: { schema: { type: 'string' } } }),
                },
        },
      ]),
    ),
    default: { description: 'A problem', content: problem },
  },
});

const problem = { 'application/problem+json': { schema: { $ref: '#/components/schemas/problem' } } };

const json = (schema: object): object => ({ 'application/json': { schema } });

const hasBody = ({ method, body }: Route): boolean =>
  (method === 'POST' || method === 'PUT') && body.def.type !== 'unknown';

const pathParameters = ({ path }: Route): object[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

const queryParameters = ({ query }: Route): object[] => {
  const { properties = {}, required = [] } = jsonSchema(query, 'input');
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
};

const headerParameters = ({ headers = {} }: Route): object[] =>
  Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }));

export const jsonSchema = (schema: z.ZodType, io: 'input' | 'output') => {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
};
