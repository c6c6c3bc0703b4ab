import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routes } from '../../shared/http/routes/routes.ts';
import { KEY_SCOPES, type KeyScope } from '../../shared/identity/auth/scopes.ts';
import { type Caller, callerWith, type Reply } from '../support/api.ts';
import { ACCESS, type AccessRow } from './access-rows.ts';
import { accessScene, type Ids, SECRET } from './access-scene.ts';
import { assertRefused, settled } from './refusal.ts';

const called = (caller: Caller, name: string, { at, body }: AccessRow, ids: Ids): Promise<Reply> => {
  const [method = '', path = ''] = name.split(' ');
  const known: Record<string, unknown> = ids;
  return caller.call(
    method,
    (at ?? path).replace(/:(\w+)/g, (text, id) => (id in known ? encodeURIComponent(String(known[id])) : text)),
    body?.(ids),
  );
};

/** By its code, or by the reason that another protocol gives. */
const answerOf = ({ status, body }: Reply): string =>
  status < 400 ? `${status}` : `${status} ${body.code ?? body.error.details[0].reason}`;
const tells = ({ body }: Reply): boolean => JSON.stringify(body ?? '').includes(SECRET);

/** Every call is measured, whoever makes it. */
const withoutCalls = (metrics: string): string[] =>
  metrics.split('\n').filter((line) => !/^(refusal_count|request_latency_ms|change_lag_ms|open_waits)/.test(line));

const readable = async (callers: Record<string, Caller>, ids: Ids): Promise<object> => {
  const read: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(ACCESS).filter(([route]) => route.startsWith('GET '))) {
    const { admin } = callers;
    assert.ok(admin);
    const { body } = await called(callers[row.by ?? 'requester'] ?? admin, name, row, ids);
    // The log has grown by what told that all was settled.
    read[name] = name === 'GET /v1/events' ? body.events : name === 'GET /metrics' ? withoutCalls(body) : body;
  }
  return read;
};

describe('route access', () => {
  const namesOf = (access: 'open' | 'key'): string[] =>
    routes
      .filter((route) => (route.access === 'open') === (access === 'open'))
      .map(({ method, path }) => `${method} ${path}`)
      .sort();

  it('tests the access to every route that requires a key', () => {
    assert.deepEqual(Object.keys(ACCESS).sort(), namesOf('key'));
    const open = [
      'GET /',
      'GET /.well-known/agent-card.json',
      'GET /.well-known/ai-catalog.json',
      'GET /a2a/jwks.json',
      'GET /a2a/{agent}/.well-known/agent-card.json',
      'GET /asyncapi.json',
      'GET /healthz',
      'GET /openapi.json',
      'GET /schemas/{name}',
    ];
    assert.deepEqual(namesOf('open'), open);
  });

  it('rejects every call without a valid key of its project', async (t) => {
    const { parley, foreigner, stranger, ids } = await accessScene(t);
    const old = stranger.key;
    assert.equal((await parley.admin.call('POST', `/v1/agents/${stranger.id}/key`)).status, 200);
    const forged = foreigner.key.replace('prl_other.', 'prl_default.');
    for (const key of [undefined, 'wrong', `${foreigner.key}x`, forged, old]) {
      const caller = callerWith(parley.transport, key);
      for (const [name, row] of Object.entries(ACCESS)) {
        assertRefused(await called(caller, name, row, ids), 401, 'unauthorized');
      }
    }
  });

  it('shows nothing to other agents, the relay and other projects, and changes nothing for them', async (t) => {
    const { parley, callers, stranger, foreigner, foreignAdmin, relay, ids } = await accessScene(t);
    // That they called at all is told once.
    for (const caller of [stranger, foreigner]) await caller.call('GET', '/v1/whoami');
    await settled(parley);
    const before = await readable(callers, ids);
    for (const [name, row] of Object.entries(ACCESS)) {
      const byStranger = await called(stranger, name, row, ids);
      assert.equal(answerOf(byStranger), row.stranger, `${name} by another agent`);
      assert.equal(tells(byStranger), row.isCommon ?? false, `${name} by another agent`);
      const byForeigner = await called(foreigner, name, row, ids);
      assert.equal(answerOf(byForeigner), row.foreign ?? row.stranger, `${name} by an agent of another project`);
      const byAdmin = await called(foreignAdmin, name, row, ids);
      // An administrator has the calls of administrators in its own project.
      if (row.by !== 'admin') assert.equal(byAdmin.status < 400, byForeigner.status < 400, `${name} by another admin`);
      for (const reply of [byForeigner, byAdmin]) assert.ok(!tells(reply), `${name} by another project`);
      if (!RELAYED.includes(name)) assertRefused(await called(relay, name, row, ids), 403, 'forbidden');
    }
    await settled(parley);
    assert.deepEqual(await readable(callers, ids), before);
  });

  it('accepts from a key of each scope what that scope is for, and nothing more', async (t) => {
    const { parley, callers, ids } = await accessScene(t);
    const { admin } = callers;
    assert.ok(admin);
    const keyOf = async (scope: KeyScope, agent?: string): Promise<Caller> => {
      const made = await admin.call('POST', '/v1/keys', { name: `${scope}-only`, scope, agent });
      assert.equal(made.status, 201, JSON.stringify(made.body));
      return callerWith(parley.transport, made.body.key);
    };
    const reader = await keyOf('read', 'requester');
    const operators = [];
    for (const scope of KEY_SCOPES) operators.push({ scope, caller: await keyOf(scope) });
    for (const [name, row] of Object.entries(ACCESS)) {
      const needed = row.scope ?? (name.startsWith('GET ') ? 'read' : row.by === 'admin' ? 'admin' : 'agent');
      const byReader = await called(reader, name, row, ids);
      if (needed !== 'read') assertRefused(byReader, 403, 'forbidden');
      else if (row.by === undefined) assert.equal(byReader.status, row.status ?? 200, `${name} by an agent's reader`);
      // What one of them has done another cannot do again.
      for (const { scope, caller } of operators) {
        const reply = await called(caller, name, row, ids);
        if (KEY_SCOPES.indexOf(scope) < KEY_SCOPES.indexOf(needed)) {
          assertRefused(reply, 403, 'forbidden');
          assert.ok(KEY_SCOPES.indexOf(reply.body.needed) > KEY_SCOPES.indexOf(scope), `${name} by ${scope}`);
        } else if (needed === 'read' || scope === needed) {
          assert.equal(reply.status, row.status ?? 200, `${name} by ${scope}: ${JSON.stringify(reply.body)}`);
        } else assert.notEqual(reply.body?.needed, needed, `${name} by ${scope}`);
      }
    }
  });

  for (const as of ['its owner', 'an administrator'] as const) {
    it(`accepts every call from ${as}`, async (t) => {
      const { callers, ids } = await accessScene(t);
      const told: string[] = [];
      for (const [name, row] of Object.entries(ACCESS)) {
        const caller = callers[as === 'its owner' ? (row.by ?? 'requester') : 'admin'];
        assert.ok(caller);
        const reply = await called(caller, name, row, ids);
        assert.equal(reply.status, row.status ?? 200, `${name}: ${JSON.stringify(reply.body)}`);
        assert.doesNotMatch(JSON.stringify(reply.body ?? ''), /keyHash/, name);
        if (tells(reply)) told.push(name);
      }
      // The others see no secret because it is kept from them, and not because there is none.
      for (const name of TELLING) assert.ok(told.includes(name), name);
    });
  }
});

const RELAYED = ['POST /v1/messages', 'GET /v1/relay/plan', 'POST /v1/relay/render', 'GET /v1/whoami'];

const TELLING = [
  'GET /v1/tasks',
  'GET /v1/tasks/{id}',
  'GET /v1/dead-letters',
  'GET /v1/tasks/{id}/artifacts/{name}',
  'GET /v1/inbox',
  'GET /v1/messages/{from}/{id}',
  'GET /v1/operations/{id}',
  'GET /v1/turns/{agent_turn_id}',
  'GET /v1/events',
  'GET /v1/gaps',
  'POST /v1/consumers/{name}/events',
];
