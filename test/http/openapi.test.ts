import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { routes } from '../../shared/http/routes/routes.ts';
import { STATUS_BY_CODE } from '../../shared/kernel/errors.ts';
import { callerWith } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

/** What the tests need of an OpenAPI document; everything is there or the test fails. */
interface Described {
  openapi: string;
  info: { title: string; version: string };
  tags: { name: string }[];
  'x-limits': Record<string, unknown>;
  components: { schemas: Record<string, object>; securitySchemes: Record<string, object> };
  paths: Record<string, Record<string, Operation>>;
}

interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  security: object[];
  parameters: { name: string; in: string; required: boolean; schema: object }[];
  requestBody?: { required: boolean; 'x-max-bytes': number; content: Record<string, { schema: object }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const KEYWORDS = ['type', 'anyOf', 'oneOf', 'allOf', '$ref', 'enum', 'const'];
const saysSomething = (schema: object): boolean => KEYWORDS.some((keyword) => keyword in schema);

const refsIn = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.flatMap(refsIn);
  if (!isObject(value)) return [];
  const own = typeof value.$ref === 'string' ? [value.$ref] : [];
  return [...own, ...Object.values(value).flatMap(refsIn)];
};

const resolves = (document: object, ref: string): boolean => {
  let at: unknown = document;
  for (const step of ref.replace(/^#\//, '').split('/')) at = isObject(at) ? at[step] : undefined;
  return at !== undefined;
};

const listOperations = ({ paths }: Described): [where: string, Operation][] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );

describe('GET /openapi.json', () => {
  it('describes every route in the OpenAPI document', async (t) => {
    const { transport } = await testParley(t);
    const { status, body } = await callerWith(transport, undefined).call('GET', '/openapi.json');
    assert.equal(status, 200);
    const document: Described = body;
    assert.match(document.openapi, /^3\.1\.\d+$/);
    assert.equal(typeof document.info.title, 'string');
    assert.equal(typeof document.info.version, 'string');
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    assert.deepEqual(described.sort(), routes.map(({ method, path }) => `${method} ${path}`).sort());
    for (const methods of Object.values(document.paths)) {
      for (const operation of Object.values(methods)) assert.ok(operation.summary.length > 0);
    }
  });

  it('contains a JSON schema for every body, response and parameter in the OpenAPI document', async (t) => {
    const { admin } = await testParley(t);
    const document: Described = (await admin.call('GET', '/openapi.json')).body;
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const where = `${method} ${path}`;
        const bodies = [operation.requestBody, ...Object.values(operation.responses)];
        const contents = bodies.flatMap((body) => Object.values(body?.content ?? {}));
        for (const { schema } of contents) assert.ok(isObject(schema) && saysSomething(schema), where);
        for (const parameter of operation.parameters) {
          assert.ok(isObject(parameter.schema) && saysSomething(parameter.schema), `${where} ${parameter.name}`);
        }
        const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
        const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
        assert.deepEqual(
          inPath.map(({ name }) => name),
          names,
          where,
        );
        assert.ok(
          inPath.every(({ required }) => required),
          where,
        );
        for (const [status, { description, content }] of Object.entries(operation.responses)) {
          assert.ok(description, where);
          const isProblem = content?.['application/problem+json'] !== undefined;
          assert.equal(isProblem, status === 'default' || status >= '400', `${where} ${status}`);
        }
      }
    }
    for (const ref of refsIn(document)) assert.ok(resolves(document, ref), ref);
  });

  it('states the limit of messages per call and the minimum page of the audit log in the OpenAPI document', async (t) => {
    const { admin, parley } = await testParley(t);
    const document: Described = (await admin.call('GET', '/openapi.json')).body;
    const body = JSON.stringify(document.components.schemas.SendMessagesRequest);
    assert.match(body, new RegExp(`"maxItems":${parley.deps.config.limits.batch}\\b`));
    const limit = document.paths['/v1/audit-log']?.get?.parameters.find(({ name }) => name === 'limit');
    assert.equal(Object(limit?.schema).minimum, 2);
    assert.equal((await admin.call('GET', '/v1/audit-log?limit=2')).status, 200);
    assert.equal((await admin.call('GET', '/v1/audit-log?limit=1')).status, 400);
  });

  it('gives every call an id of its own and the tag of what it is about', async (t) => {
    const { admin } = await testParley(t);
    const document: Described = (await admin.call('GET', '/openapi.json')).body;
    const operations = listOperations(document);
    const ids = operations.map(([, { operationId }]) => operationId);
    for (const id of ids) assert.match(id, /^[a-z][A-Za-z]+$/);
    assert.equal(new Set(ids).size, routes.length);
    const tags = document.tags.map(({ name }) => name);
    assert.deepEqual([...new Set(operations.flatMap(([, operation]) => operation.tags))].sort(), tags.sort());
    const { get } = document.paths['/v1/tasks/{id}/steps/{name}'] ?? {};
    assert.deepEqual([get?.operationId, get?.tags], ['getStep', ['tasks']]);
  });

  it('has a name for the schema of every JSON body', async (t) => {
    const { admin } = await testParley(t);
    const document: Described = (await admin.call('GET', '/openapi.json')).body;
    for (const [where, { requestBody, responses }] of listOperations(document)) {
      for (const body of [requestBody, ...Object.values(responses)]) {
        const schema = body?.content?.['application/json']?.schema;
        assert.ok(schema === undefined || '$ref' in schema, where);
      }
    }
    const taskPage = document.components.schemas.TaskPage;
    assert.match(JSON.stringify(taskPage), /"\$ref":"#\/components\/schemas\/Task"/);
  });

  it('states the limit of every parameter and every body, and the limits of the configuration', async (t) => {
    const { admin, parley } = await testParley(t);
    const document: Described = (await admin.call('GET', '/openapi.json')).body;
    assert.deepEqual(document['x-limits'], parley.deps.config.limits);
    const bounds = ['maxLength', 'pattern', 'enum', 'const', 'format', 'maximum'];
    for (const [where, { tags, parameters, requestBody }] of listOperations(document)) {
      for (const { name, schema } of parameters) {
        assert.ok(
          bounds.some((bound) => bound in schema),
          `${where} ${name}`,
        );
      }
      // Those refuse in their own words.
      if (!requestBody || tags.includes('other protocols')) continue;
      const [method = '', path = ''] = where.replaceAll(/\{\w+\}/g, 'x').split(' ');
      const tooLarge = { text: 'x'.repeat(requestBody['x-max-bytes']) };
      const { status, body } = await admin.call(method, path, tooLarge);
      assert.deepEqual([status, body.code], [413, 'too_large'], where);
    }
  });

  it('serves the same serialized document to every caller', async (t) => {
    const { parley } = await testParley(t);
    for (const path of ['/openapi.json', '/asyncapi.json', '/schemas/task.schema.json']) {
      const request = { method: 'GET', path, query: '', headers: {}, readBody: createBodyReader(Buffer.of()) };
      const [first, second] = [await parley.handle(request), await parley.handle(request)];
      assert.ok(first.body instanceof Uint8Array);
      assert.equal(first.body, second.body, path);
    }
  });

  it('lists the headers of POST /v1/messages in the OpenAPI document', async (t) => {
    const { admin } = await testParley(t);
    const document: Described = (await admin.call('GET', '/openapi.json')).body;
    const parameters = document.paths['/v1/messages']?.post?.parameters ?? [];
    const headers = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name);
    assert.deepEqual(headers, [
      'Parley-Dialect',
      'Parley-Broadcast',
      'Idempotency-Key',
      'Parley-Signature',
      'Parley-Timestamp',
    ]);
  });

  it('states in the OpenAPI document that an empty page need not be the last one', async (t) => {
    const { admin } = await testParley(t);
    const document: Described = (await admin.call('GET', '/openapi.json')).body;
    for (const path of ['/v1/tasks', '/v1/audit-log']) {
      assert.match(document.paths[path]?.get?.responses['200']?.description ?? '', /empty/, path);
    }
  });

  it('describes a body in the OpenAPI document exactly for the calls that take one', async (t) => {
    const { admin } = await testParley(t);
    const document: Described = (await admin.call('GET', '/openapi.json')).body;
    const withBody = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { requestBody }]) => (requestBody ? [`${method} ${path}`] : [])),
    );
    assert.deepEqual(withBody.sort(), [
      'post /a2a',
      'post /a2a/{agent}',
      'post /a2a/{agent}/message:send',
      'post /a2a/{agent}/message:stream',
      'post /a2a/{agent}/tasks/{id}',
      'post /a2a/{agent}/tasks/{id}/pushNotificationConfigs',
      'post /a2a/{agent}/{tenant}/message:send',
      'post /a2a/{agent}/{tenant}/message:stream',
      'post /a2a/{agent}/{tenant}/tasks/{id}',
      'post /a2a/{agent}/{tenant}/tasks/{id}/pushNotificationConfigs',
      'post /mcp',
      'post /mcp/{agent}',
      'post /v1/agents/{id}/drain',
      'post /v1/agents/{id}/pause',
      'post /v1/agents/{id}/resume',
      'post /v1/batches',
      'post /v1/batches/{id}/cancel',
      'post /v1/boxes',
      'post /v1/boxes/{id}/append',
      'post /v1/cards',
      'post /v1/claims',
      'post /v1/consumers/{name}/ack',
      'post /v1/consumers/{name}/events',
      'post /v1/consumers/{name}/rewind',
      'post /v1/dead-letters/retry',
      'post /v1/graphs',
      'post /v1/inbox/ack',
      'post /v1/keys',
      'post /v1/keys/{name}/rotate',
      'post /v1/manifest',
      'post /v1/messages',
      'post /v1/queues/{id}/pause',
      'post /v1/relay/render',
      'post /v1/tasks',
      'post /v1/tasks/cancel',
      'post /v1/tasks/retry',
      'post /v1/tasks/{id}/cancel',
      'post /v1/tasks/{id}/input',
      'post /v1/tasks/{id}/release',
      'post /v1/tasks/{id}/renew',
      'post /v1/tasks/{id}/rerun',
      'post /v1/tasks/{id}/retry',
      'post /v1/turns',
      'post /v1/turns/lease',
      'post /v1/turns/{agent_turn_id}/deliver',
      'post /v1/turns/{agent_turn_id}/reports',
      'post /v1/turns/{agent_turn_id}/start',
      'post /v1/turns/{agent_turn_id}/step',
      'post /v1/turns/{agent_turn_id}/stop',
      'post /v1/turns/{agent_turn_id}/suspend',
      'put /v1/agents/{id}',
      'put /v1/limits/{key}',
      'put /v1/projects/{name}',
      'put /v1/schedules/{id}',
      'put /v1/tasks/{id}/steps/{name}',
      'put /v1/tools/{name}',
      'put /v1/webhooks/{id}',
    ]);
  });

  it('states optional bodies, numeric parameters and media types in the OpenAPI document', async (t) => {
    const { admin } = await testParley(t);
    const { paths }: Described = (await admin.call('GET', '/openapi.json')).body;
    assert.equal(paths['/v1/messages']?.post?.requestBody?.required, true);
    assert.equal(paths['/v1/claims']?.post?.requestBody?.required, false);
    const inbox = paths['/v1/inbox']?.get?.parameters ?? [];
    const typeOf = (name: string) => inbox.find((parameter) => parameter.name === name)?.schema;
    assert.partialDeepStrictEqual(typeOf('max'), { type: 'integer', minimum: 1, maximum: 100 });
    assert.partialDeepStrictEqual(typeOf('wait'), { type: 'number', minimum: 0, maximum: 25 });
    assert.deepEqual(Object.keys(paths['/v1/events']?.get?.responses['200']?.content ?? {}), [
      'application/json',
      'text/event-stream',
      'application/cloudevents-batch+json',
    ]);
  });

  it('lists every error code and every dialect in the OpenAPI document', async (t) => {
    const { admin } = await testParley(t);
    const document: Described = (await admin.call('GET', '/openapi.json')).body;
    const { Problem } = document.components.schemas;
    assert.match(
      JSON.stringify(Problem),
      new RegExp(
        Object.keys(STATUS_BY_CODE)
          .map((code) => `"${code}"`)
          .join(','),
      ),
    );
    assert.ok(document.components.schemas['round-table']);
  });

  it('states a key in the OpenAPI document exactly for the calls that require one', async (t) => {
    const { admin, transport } = await testParley(t);
    const document: Described = (await admin.call('GET', '/openapi.json')).body;
    const nobody = callerWith(transport, undefined);
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { security }] of Object.entries(methods)) {
        const { status } = await nobody.call(method.toUpperCase(), path.replace('{id}', 'any'));
        assert.equal(status === 401, security.length > 0, `${method} ${path}`);
      }
    }
  });
});
