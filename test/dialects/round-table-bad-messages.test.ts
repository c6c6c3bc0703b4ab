import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { type ParleyErrorCode, STATUS_BY_CODE } from '../../shared/kernel/errors.ts';
import { assertRefused, refusedWithoutTrace } from '../http/refusal.ts';
import { about, taskRequest } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

const request = (overrides: Parameters<typeof taskRequest>[1]) => taskRequest('tim', overrides);
const progress = (payload: object) => about('task.progress', 'tim', randomUUID(), payload);
const subTask = { id: 'sub-001', status: 'completed' };

const refused: [what: string, message: object, code: ParleyErrorCode, paths: string[]][] = [
  ['an id that is no UUID', request({ id: 'task-1' }), 'invalid_message', ['id']],
  [
    'an id that is a UUID of version 1',
    request({ id: '550e8400-e29b-11d4-a716-446655440000' }),
    'invalid_message',
    ['id'],
  ],
  ['an id that is a number', request({ id: 5 }), 'invalid_message', ['id']],
  ['a correlationId that is no UUID', request({ correlationId: 'parent' }), 'invalid_message', ['correlationId']],
  ['a timestamp without a zone', request({ timestamp: '2026-02-08T15:00:00' }), 'invalid_message', ['timestamp']],
  ['a timestamp that is a number', request({ timestamp: 1770562800000 }), 'invalid_message', ['timestamp']],
  ['a day that does not exist', request({ timestamp: '2026-02-30T15:00:00Z' }), 'invalid_message', ['timestamp']],
  ['a TTL of 0', request({ ttl: 0 }), 'invalid_message', ['ttl']],
  ['a TTL of -1', request({ ttl: -1 }), 'invalid_message', ['ttl']],
  ['a TTL of 1.5', request({ ttl: 1.5 }), 'invalid_message', ['ttl']],
  ['a TTL in a text', request({ ttl: '3600' }), 'invalid_message', ['ttl']],
  ['an unknown priority', request({ priority: 'urgent' }), 'invalid_message', ['priority']],
  ['a version that is a word', request({ version: 'one' }), 'invalid_message', ['version']],
  ['a version that is a number', request({ version: 1 }), 'invalid_message', ['version']],
  ['a version of another major', request({ version: '2.0' }), 'unsupported_version', []],
  ['an unknown type', request({ type: 'task.praised' }), 'unknown_type', []],
  ['a type named like an inherited property', request({ type: 'constructor' }), 'unknown_type', []],
  ['no type', request({ type: undefined }), 'invalid_message', ['type']],
  ['an addressee that is no agent id', request({ to: 'Sir Galahad' }), 'invalid_message', ['to']],
  ['an addressee that nobody is', request({ to: 'mordred' }), 'unknown_agent', []],
  ['a task without an action', request({ payload: { task: 'security' } }), 'invalid_message', ['payload.task']],
  ['a task of an unknown domain', request({ payload: { task: 'alchemy.gold' } }), 'unknown_domain', []],
  ['a domain named like an inherited property', request({ payload: { task: 'constructor.x' } }), 'unknown_domain', []],
  ['params that are a list', request({ payload: { params: [] } }), 'invalid_message', ['payload.params']],
  ['maxTokens of 0', request({ payload: { maxTokens: 0 } }), 'invalid_message', ['payload.maxTokens']],
  ['a payload that is a text', { ...request({}), payload: 'do it' }, 'invalid_message', ['payload']],
  ['a sender that is somebody else', taskRequest('galahad'), 'from_mismatch', []],
  ['progress beyond 100', progress({ percent: 101 }), 'invalid_message', ['payload.percent']],
  ['too many subTasks', progress({ subTasks: Array(101).fill(subTask) }), 'invalid_message', ['payload.subTasks']],
  [
    'a subTask without a status',
    progress({ subTasks: [{ id: 'a' }] }),
    'invalid_message',
    ['payload.subTasks[0].status'],
  ],
  [
    'a result without a result',
    about('task.result', 'tim', randomUUID(), { status: 'completed' }),
    'invalid_message',
    ['payload.result'],
  ],
  [
    'a result of unknown status',
    about('task.result', 'tim', randomUUID(), { status: 'done' }),
    'invalid_message',
    ['payload.status'],
  ],
  [
    'an error code that is too long',
    about('task.failed', 'tim', randomUUID(), { error: 'b'.repeat(129) }),
    'invalid_message',
    ['payload.error'],
  ],
  ['a failure without a code', about('task.failed', 'tim', randomUUID(), {}), 'invalid_message', ['payload.error']],
  ['a report about nothing', { ...progress({}), correlationId: undefined }, 'invalid_message', ['correlationId']],
  ['a report about an unknown task', progress({}), 'task_not_found', []],
  [
    'a result that is a list',
    about('task.result', 'tim', randomUUID(), { status: 'completed', result: [] }),
    'invalid_message',
    ['payload.result'],
  ],
  [
    'a heartbeat with a status that is a number',
    about('heartbeat', 'tim', randomUUID(), { status: 1 }),
    'invalid_message',
    ['payload.status'],
  ],
];

describe('Round Table message validation', () => {
  it('rejects a bad message without a trace', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    await parley.agent('galahad');
    for (const [what, message, code, paths] of refused) {
      await t.test(`rejects ${what}`, async () => {
        const reply = await refusedWithoutTrace(parley, STATUS_BY_CODE[code], code, () => tim.send(message));
        assert.deepEqual(
          (reply.body.issues ?? []).map(({ path }: { path: string }) => path),
          paths,
        );
      });
    }
  });

  it('reports all issues of a message at once', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const reply = await tim.send({ version: '1', type: 'task.request', from: 'tim', ttl: '1', payload: { params: 5 } });
    assertRefused(reply, 400, 'invalid_message');
    const paths = reply.body.issues.map(({ path }: { path: string }) => path);
    assert.deepEqual(paths.sort(), ['id', 'payload.params', 'payload.task', 'timestamp', 'ttl', 'version']);
    for (const { message } of reply.body.issues) assert.ok(message.length > 0);
  });

  it('reports all issues of a message without a type', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const reply = await tim.send({ ...request({ ttl: 0, timestamp: 'now' }), type: undefined });
    const paths = reply.body.issues.map(({ path }: { path: string }) => path);
    assert.deepEqual(paths.sort(), ['timestamp', 'ttl', 'type']);
  });

  it('reports the missing fields of a message whose header names the dialect', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const named = { 'parley-dialect': 'round-table' };
    const reply = await tim.call('POST', '/v1/messages', { type: 'heartbeat' }, named);
    assertRefused(reply, 400, 'invalid_message');
    const paths = reply.body.issues.map(({ path }: { path: string }) => path);
    assert.deepEqual(paths.sort(), ['from', 'id', 'payload', 'timestamp', 'version']);
  });

  it('rejects a message in an unknown dialect', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const named = { 'parley-dialect': 'latin' };
    const reply = await refusedWithoutTrace(parley, 400, 'unknown_dialect', () =>
      tim.call('POST', '/v1/messages', request({}), named),
    );
    assert.ok(reply.body.known.includes('round-table'));
  });

  it('lists the known domains and types in its errors', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const { body: domains } = await tim.send(request({ payload: { task: 'alchemy.gold' } }));
    assert.deepEqual(domains.known, ['security', 'comms', 'intel', 'observability', 'home']);
    const { body: types } = await tim.send(request({ type: 'task.praised' }));
    const tasks = ['task.request', 'task.claimed', 'task.progress', 'task.result', 'task.failed', 'heartbeat'];
    const known = [...tasks, 'broadcast.config-update', 'broadcast.maintenance', 'broadcast.alert'];
    assert.deepEqual(types.known, known);
  });

  it('rejects a message from an unregistered agent, also with the admin key', async (t) => {
    const parley = await testParley(t);
    await refusedWithoutTrace(parley, 422, 'unknown_agent', () =>
      parley.admin.call('POST', '/v1/messages', taskRequest('mordred')),
    );
  });
});

describe('Round Table contract version', () => {
  it('rejects and logs a message of another major version', async (t) => {
    const { agent, logged } = await testParley(t);
    const tim = await agent('tim');
    const reply = await tim.send(request({ version: '2.0' }));
    assertRefused(reply, 400, 'unsupported_version');
    assert.equal(reply.body.version, '2.0');
    assert.equal(reply.body.supported, '1.0');
    assert.deepEqual(logged, ['warn message rejected: unsupported version']);
  });

  it('accepts a message of a later minor version', async (t) => {
    const { agent, logged } = await testParley(t);
    const tim = await agent('tim');
    assert.equal((await tim.send(request({ version: '1.7.3' }))).status, 202);
    assert.deepEqual(logged, []);
  });
});
