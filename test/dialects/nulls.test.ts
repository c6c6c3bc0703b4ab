import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as z from 'zod';
import baseConfig from '../../parley.config.ts';
import { getDialect } from '../../shared/dialects/registry.ts';
import { isObject, type JsonObject, toJsonObject } from '../../shared/kernel/json/json.ts';
import { parseOrThrow } from '../../shared/kernel/json/parse-or-throw.ts';
import { agentOsMessage, evidence } from '../support/agent-os-agent.ts';
import { about, callerWith, taskRequest } from '../support/api.ts';
import { mrMessage } from '../support/message-routing.ts';
import { tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const TASK = '7d444840-9dc0-41d1-b245-5ffdce74fad2';
const ARTIFACT = { name: 'a', type: 'text/plain', content: 'x' };
const ERROR = { code: 'TIMEOUT', message: 'm' };

const MESSAGES: Record<string, object[]> = {
  'round-table': [
    taskRequest('a'),
    about('task.claimed', 'b', TASK, {}),
    about('task.progress', 'b', TASK, { subTasks: [{ id: '1', status: 's' }] }),
    about('task.result', 'b', TASK, { status: 'completed', result: {} }),
    about('task.result', 'b', TASK, { status: 'failed' }),
    about('task.failed', 'b', TASK, { error: 'timeout' }),
    about('heartbeat', 'b', TASK, { status: 'idle', capabilities: [] }),
    about('broadcast.alert', 'b', TASK, {}),
  ],
  'agent-os': [
    ...['query', 'command', 'event', 'validation', 'correction', 'evidence', 'gap'].map((type) =>
      agentOsMessage(type, 'a', 'b', { evidence: evidence() }),
    ),
    agentOsMessage('response', 'a', 'b', { replyTo: TASK, evidence: evidence() }),
    agentOsMessage('error', 'a', 'b', { replyTo: TASK, payload: { content: ERROR } }),
  ],
  'task-format': [
    tfRequest({ context: {}, routing: {}, observability: {}, retryPolicy: {} }),
    { id: TASK, status: 'pending', metadata: {}, observability: {} },
    { id: TASK, status: 'in_progress', metadata: {} },
    { id: TASK, status: 'completed', artifacts: [ARTIFACT] },
    { id: TASK, status: 'failed', error: ERROR },
    { id: TASK, status: 'cancelled' },
    { id: TASK, status: 'input_required', input: { prompt: 'p' } },
  ],
  'message-routing': ['status-update', 'task-delegation', 'result', 'command', 'heartbeat'].map((type) =>
    mrMessage(type, 'a', 'b'),
  ),
};

/** A field that may be absent, as `context.user`, with its place in the message. */
interface OptionalField {
  parent: string[];
  name: string;
}

/** Where any JSON is taken, null is a value like others. */
const takesNull = (schema: JsonObject): boolean => {
  const options = [schema.anyOf ?? []].flat();
  return (
    options.some((option) => isObject(option) && option.type === 'null') ||
    !('type' in schema || 'const' in schema || 'enum' in schema)
  );
};

const isOption = (schema: JsonObject, value: JsonObject): boolean =>
  [schema.required ?? []].flat().every((name) => typeof name === 'string' && value[name] !== undefined) &&
  Object.entries(toJsonObject(isObject(schema.properties) ? schema.properties : {})).every(([name, field]) => {
    if (!isObject(field) || value[name] === undefined || !(name === 'type' || name === 'status')) return true;
    const choices = [field.const ?? field.enum ?? value[name]].flat();
    return choices.some((choice) => choice === value[name]);
  });

const listOptionalFields = (schema: unknown, value: unknown, parent: string[] = []): OptionalField[] => {
  if (!isObject(schema)) return [];
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => listOptionalFields(schema.items, item, [...parent, String(index)]));
  }
  if (!isObject(value)) return [];
  const options = [schema.oneOf ?? schema.anyOf ?? []].flat();
  if (options.length > 0) {
    return options
      .filter((option) => isObject(option) && isOption(toJsonObject(option), toJsonObject(value)))
      .flatMap((option) => listOptionalFields(option, value, parent));
  }
  const required = [schema.required ?? []].flat();
  return Object.entries(isObject(schema.properties) ? schema.properties : {}).flatMap(([name, field]) => [
    ...(required.includes(name) || !isObject(field) || takesNull(toJsonObject(field)) ? [] : [{ parent, name }]),
    ...listOptionalFields(field, value[name], [...parent, name]),
  ]);
};

const withField = (message: object, { parent, name }: OptionalField, field: null | undefined): JsonObject => {
  const copy = structuredClone(message);
  const at = parent.reduce<object>((value, step) => Reflect.get(value, step), copy);
  Reflect.set(at, name, field);
  return JSON.parse(JSON.stringify(copy));
};

describe('A null in an optional field', () => {
  for (const [name, messages] of Object.entries(MESSAGES)) {
    const dialect = getDialect(name);
    const schema = z.toJSONSchema(dialect.schema, { io: 'input', unrepresentable: 'any' });
    const decode = (message: JsonObject) => dialect.decode(message, baseConfig, 'a');
    for (const message of messages) {
      const { type, status } = { type: undefined, status: undefined, ...message };
      const fields = listOptionalFields(schema, message);
      it(`of ${name} ${type ?? status} decodes as the field's absence, in each of ${fields.length} fields`, () => {
        assert.ok(fields.length > 1);
        for (const field of fields) {
          const given = decode(withField(message, field, null));
          const expected = decode(withField(message, field, undefined));
          assert.deepEqual(given, expected, [...field.parent, field.name].join('.'));
        }
      });
    }
  }

  it('of common-ground decodes as the absence of the field, of the header and of the depth', () => {
    const dialect = getDialect('common-ground');
    const subject = 'cg.v1r3.default.t_1.cmd.agent.worker';
    const decode = (suffix: string, payload: object, headers: object = {}) => {
      const { command } = Object(
        dialect.decode(
          { subject: `${subject}.${suffix}`, headers: toJsonObject(headers), payload: toJsonObject(payload) },
          baseConfig,
          'a',
        ),
      );
      return { ...command, rawPayload: undefined, content: undefined };
    };
    const nothing = {
      agent_id: null,
      mode: null,
      channel_id: null,
      recursion_depth: null,
      context_box_id: null,
      payload: null,
    };
    const call = { correlation_id: 'c' };
    const ofHeaders = { 'CG-Recursion-Depth': null, 'CG-User-ID': null, traceparent: null };
    assert.deepEqual(decode('turn', { ...call, ...nothing }, ofHeaders), decode('turn', call));
    const turn = { agent_turn_id: 't', turn_epoch: 1, agent_id: 'worker' };
    const report = {
      ...turn,
      tool_call_id: 'c',
      after_execution: 'suspend',
      status: 'success',
      tool_result_card_id: 'r',
    };
    const ofReport = { message_type: null, result: null, recursion_depth: null };
    assert.deepEqual(decode('tool_result', { ...report, ...ofReport }, ofHeaders), decode('tool_result', report));
    assert.deepEqual(decode('stop', { ...turn, reason: null }), decode('stop', turn));
  });

  it('is taken over HTTP with a key and from the relay, whose sender wrote None for each optional field', async (t) => {
    const { admin, agent, transport } = await testParley(t);
    const boss = await agent('boss');
    await agent('merlin', { dialect: 'common-ground', capabilities: [], transport: 'nats' });
    const nulls = { to: null, correlationId: null, priority: null, ttl: null, colour: null };
    assert.equal((await boss.send(taskRequest('boss', nulls))).status, 202);
    const named = { 'parley-dialect': 'task-format' };
    const request = {
      ...tfRequest({ type: 'security.briefing' }),
      context: null,
      routing: null,
      status: null,
      input: null,
      extra: null,
    };
    for (const headers of [{}, named]) {
      const reply = await boss.call('POST', '/v1/messages', { ...request, id: crypto.randomUUID() }, headers);
      assert.equal(reply.status, 202, JSON.stringify(reply.body));
    }
    const relay = callerWith(transport, (await admin.call('POST', '/v1/relay/key')).body.key);
    const call = { correlation_id: 'c', mode: null, channel_id: null, context_box_id: null, recursion_depth: null };
    const envelopes = [
      {
        subject: 'cg.v1r3.default.public.cmd.agent.merlin.turn',
        headers: { 'CG-Sender': 'merlin' },
        publishedAt: null,
      },
    ];
    const { body } = await relay.call('POST', '/v1/messages', { messages: [call], envelopes });
    assert.equal(body.results?.[0].status, 202, JSON.stringify(body));
  });

  it('is absent in the bodies of all other calls too', async (t) => {
    const { admin, agent } = await testParley(t);
    const worker = await agent('worker');
    assert.deepEqual(await worker.claim({ max: null, wait: null, domains: null, instance: null, claimId: null }), []);
    const registration = { dialect: 'round-table', capabilities: [], domains: null, transport: null, limits: null };
    assert.equal((await admin.call('PUT', '/v1/agents/other', registration)).status, 201);
  });

  it('in a required field is refused as missing, and a null among the items of an array as wrong', async (t) => {
    const { agent } = await testParley(t);
    const boss = await agent('boss');
    const issuesOf = async (message: object) => (await boss.send(message)).body.issues;
    assert.deepEqual(await issuesOf(taskRequest('boss', { payload: { task: null } })), [
      { path: 'payload.task', message: 'is required' },
    ]);
    assert.deepEqual(await issuesOf(tfRequest({ routing: { delegationChain: [null], target: null } })), [
      { path: 'routing.delegationChain[0]', message: 'must be a string' },
    ]);
  });

  it('within thousands of others is omitted in one pass over the message', () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, null]));
    const begun = performance.now();
    assert.deepEqual(parseOrThrow(z.strictObject({ a: z.string().optional() }), many, 'invalid_request', 'It'), {});
    assert.ok(performance.now() - begun < 500);
  });
});
