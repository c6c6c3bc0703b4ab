import * as z from 'zod';
import { defineConfig } from '../../shared/config/config.ts';
import { DIALECT_NAMES } from '../../shared/dialects/registry.ts';
import { findExample } from '../../shared/http/examples.ts';
import { buildOpenApi, getResource } from '../../shared/http/openapi.ts';
import type { Access, Route } from '../../shared/http/route.ts';
import { routes } from '../../shared/http/routes/routes.ts';
import { SIGNATURE_HEADERS } from '../../shared/ingest/authorize.ts';
import { isObject } from '../../shared/kernel/json/json.ts';
import { describeType, type Field, JsonSchema, listFields, listVariants, toFieldRow } from './json-schema.ts';
import { anchor, code, page, sentence, table } from './markdown.ts';

const Content = z.record(z.string(), z.object({ schema: JsonSchema })).optional();

const Operation = z.object({
  summary: z.string(),
  parameters: z.array(
    z.object({
      name: z.string(),
      in: z.string(),
      required: z.boolean(),
      description: z.string().optional(),
      schema: JsonSchema,
    }),
  ),
  requestBody: z.object({ required: z.boolean(), content: Content }).optional(),
  responses: z.record(z.string(), z.object({ description: z.string(), content: Content })),
});
type Operation = z.output<typeof Operation>;

const OpenApi = z.object({
  components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
  paths: z.record(z.string(), z.unknown()),
});
const Paths = z.record(z.string(), z.record(z.string(), Operation));

interface Call {
  route: Route;
  operation: Operation;
}

const ROLES: Record<Access, string> = {
  open: 'no key',
  'agent-or-admin': 'agent or admin',
  admin: 'admin',
  'relay-or-admin': 'relay or admin',
  'any-key': 'agent, admin or relay',
};

/** A response with as many fields has a table of its own, once. */
const MIN_FIELDS_FOR_TABLE = 6;

const INTRODUCTION = `This page lists every route. \`GET /openapi.json\` describes the same routes with complete schemas.

- **Key.** Send \`Authorization: Bearer <key>\`. *Role* says whose key a route accepts, and *scope* what
  that key must be for: see [Keys](../guides/keys.md).
- **Body.** Requests and responses are JSON. Unknown fields are rejected. \`GET /schemas/{name}\` has the schemas of the
  dialects.
- **Errors.** Every error is \`application/problem+json\` with a stable code: see [Error codes](error-codes.md). The tables
  below list only errors that are specific to a route.
- **Paging.** A response with a \`cursor\` may have more pages. Send the cursor back to read the next page.
- **Waiting.** Routes with \`wait\` answer as soon as there is a result, or after that many seconds.
- **Tracing.** \`traceparent\`, \`tracestate\` and \`baggage\` are accepted on every route.`;

export const renderHttp = (): string => {
  const calls = listCalls();
  const views = listViews(calls);
  const groups = Object.groupBy(calls, ({ route }) => getResource(route));
  return page(
    '# HTTP API',
    INTRODUCTION,
    `Agents that sign their messages also send these headers on routes that change something:\n\n${table(
      ['header', 'meaning'],
      Object.entries(SIGNATURE_HEADERS).map(([name, meaning]) => [code(name), sentence(meaning)]),
    )}`,
    table(
      ['resource', 'routes'],
      Object.entries(groups).map(([resource, members = []]) => [
        `[${getTitle(resource)}](#${anchor(getTitle(resource))})`,
        members.map(({ route }) => `[${code(getHeading(route))}](#${anchor(getHeading(route))})`).join('<br>'),
      ]),
    ),
    ...Object.entries(groups).flatMap(([resource, members = []]) => [
      `## ${getTitle(resource)}`,
      ...members.flatMap((call) => renderCall(call, views)),
    ]),
  );
};

const listCalls = (): Call[] => {
  const config = defineConfig({ projects: { default: { domains: {} } } });
  const document = OpenApi.parse(JSON.parse(JSON.stringify(buildOpenApi(routes, config))));
  const paths = Paths.parse(inlineSchemas(document.paths, document.components.schemas));
  return routes.map((route) => {
    const operation = paths[route.path]?.[route.method.toLowerCase()];
    if (!operation) throw new Error(`the OpenAPI document lacks ${getHeading(route)}`);
    if (!findExample(route.operationId) && !route.isForeign) {
      throw new Error(
        `${getHeading(route)} has no example: add ${route.operationId} to test/http/examples/story.ts, and run test/http/examples/write-examples.ts`,
      );
    }
    return { route, operation };
  });
};

/** A page has no references, except to the messages of dialects. */
const inlineSchemas = (value: unknown, schemas: Record<string, unknown>): unknown => {
  if (Array.isArray(value)) return value.map((one) => inlineSchemas(one, schemas));
  if (!isObject(value)) return value;
  const { $ref, ...rest } = value;
  const name = typeof $ref === 'string' ? $ref.replace('#/components/schemas/', '') : undefined;
  const named = name === undefined || isDialect(name) ? undefined : schemas[name];
  const inner = isObject(named) ? { ...named, ...rest } : value;
  return Object.fromEntries(Object.entries(inner).map(([key, one]) => [key, inlineSchemas(one, schemas)]));
};

const isDialect = (name: string): boolean => DIALECT_NAMES.some((dialect) => dialect === name);

const getHeading = ({ method, path }: Route): string => `${method} ${path}`;

const getTitle = (resource: string): string => {
  const [first = '', ...rest] = resource.replaceAll('-', ' ');
  return first.toUpperCase() + rest.join('');
};

const renderCall = ({ route, operation }: Call, views: View[]): string[] => [
  `### ${getHeading(route)}`,
  `${sentence(operation.summary)} Role: ${ROLES[route.access]}.${route.scope ? ` Scope: ${route.scope}.` : ''}`,
  renderParameters(operation),
  renderBody(operation),
  renderResponses({ route, operation }, views),
  renderView(route, views),
];

const renderParameters = ({ parameters }: Operation): string =>
  table(
    ['parameter', 'in', 'type', 'default', 'meaning'],
    parameters
      .filter((one) => one.in !== 'path' && !(one.name in SIGNATURE_HEADERS))
      .map((one) => {
        const { schema, required: isRequired } = one;
        const [name = '', ...rest] = toFieldRow({ path: one.name, schema, isRequired });
        const described = one.description === undefined ? rest : [...rest.slice(0, -1), sentence(one.description)];
        return [name, one.in, ...described];
      }),
  );

const renderBody = ({ requestBody }: Operation): string => {
  const schema = requestBody?.content?.['application/json']?.schema;
  if (!schema) return '';
  const fields = listFields(schema, 2);
  const dialects = listVariants(schema).flatMap(({ $ref }) => $ref?.split('/').at(-1) ?? []);
  const message = dialects.length === 0 ? '' : ` a message of ${joinWithOr(dialects.map(code))}`;
  const rest = fields.length === 0 ? '.' : `${message === '' ? '' : '; or'}:`;
  const kind = message === '' && fields.length === 0 ? ` ${describeType(schema)}` : message;
  const lead = `Body${requestBody?.required ? '' : ' (optional)'}${kind === '' ? '' : ':'}${kind}${rest}`;
  return page(lead, table(['field', 'type', 'default', 'meaning'], fields.map(toFieldRow))).trim();
};

const joinWithOr = (words: string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

/** A view that several routes respond with is described once, at the route that gets it. */
interface View {
  heading: string;
  fields: Field[];
}

const listViews = (calls: Call[]): View[] =>
  calls
    .filter(({ route }) => route.method === 'GET')
    .map(({ route, operation }) => ({ heading: getHeading(route), fields: listFields(getJson(operation, '200'), 1) }))
    .filter(({ fields }) => fields.length >= MIN_FIELDS_FOR_TABLE);

const getJson = ({ responses }: Operation, status: string): JsonSchema =>
  responses[status]?.content?.['application/json']?.schema ?? {};

const renderResponses = ({ route, operation }: Call, views: View[]): string => {
  const heading = getHeading(route);
  const rows = Object.entries(operation.responses)
    .filter(([status]) => status !== 'default')
    .map(([status, { description, content = {} }]) => {
      const fields = Number(status) < 400 ? listNames(heading, listFields(getJson(operation, status), 1), views) : '';
      const others = Object.keys(content).filter((type) => !type.endsWith('json'));
      return [status, sentence(description), [fields, ...others.map(code)].filter((one) => one !== '').join('; or ')];
    });
  return table(['status', 'meaning', 'fields'], rows);
};

const listNames = (heading: string, fields: Field[], views: View[]): string => {
  const paths = fields.map(({ path }) => path);
  const view = views.find((one) => one.fields.every(({ path }) => paths.includes(path)));
  const rest = fields.filter(({ path }) => !view?.fields.some((one) => one.path === path));
  const names = rest.map(({ path, schema }) => code(schema.type === 'array' ? `${path}[]` : path));
  if (!view) return names.join(', ');
  return [view.heading === heading ? 'see below' : `as [${view.heading}](#${anchor(view.heading)})`, ...names].join(
    ', ',
  );
};

const renderView = (route: Route, views: View[]): string => {
  const { fields } = views.find(({ heading }) => heading === getHeading(route)) ?? { fields: [] };
  return table(
    ['response field', 'type', 'meaning'],
    fields.map(({ path, schema }) => [code(path), describeType(schema), sentence(schema.description)]),
  );
};
