import assert from 'node:assert/strict';
import * as z from 'zod';
import { ProblemSchema } from '../../shared/http/openapi.ts';
import { toJsonSchema } from '../../shared/http/openapi-schemas.ts';
import type { Route } from '../../shared/http/route.ts';
import { routes } from '../../shared/http/routes/routes.ts';
import type { Reply } from './api.ts';

/** Fails where an answer is not what `/openapi.json` says that the call answers. */
export const isAsDescribed = (method: string, path: string, reply: Reply): void => {
  const isProblem = reply.headers['content-type'] === 'application/problem+json';
  const route = routes.find((each) => each.method === method && pathOf(each).test(path));
  if (route?.isForeign && !isProblem) return;
  assert.equal(isProblem, reply.status >= 400);
  // Whatever is called otherwise is answered with a problem, too.
  const shape = isProblem ? asPublished(ProblemSchema) : route && shapeOf(route, reply);
  const { error } = shape?.safeParse(reply.body) ?? {};
  if (error) assert.fail(`${method} ${path} answers ${reply.status} with what is not described: ${error.message}`);
};

const shapeOf = (route: Route, { status, headers }: Reply): z.ZodType | undefined => {
  const described = route.responses[status];
  assert.ok(described, `${route.method} ${route.path} does not say that it answers ${status}`);
  if (headers['content-type'] === 'application/json') {
    assert.ok(described.schema, `${route.method} ${route.path} does not say what it answers`);
    return asPublished(described.schema);
  }
  assert.equal(headers['content-type'] !== undefined, described.otherType !== undefined);
  return undefined;
};

const pathOf = (route: Route): RegExp =>
  remembered(paths, route, ({ path }) => new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`));

/** A published schema refuses what a schema of zod leaves out. */
const asPublished = (schema: z.ZodType): z.ZodType =>
  remembered(shapes, schema, () => z.fromJSONSchema(toJsonSchema(schema, 'output')));

const shapes = new Map<z.ZodType, z.ZodType>();
const paths = new Map<Route, RegExp>();

const remembered = <K, V>(known: Map<K, V>, key: K, make: (key: K) => V): V => {
  const value = known.get(key) ?? make(key);
  known.set(key, value);
  return value;
};
