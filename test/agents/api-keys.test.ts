import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { generateKey } from '../../shared/identity/auth/keys.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import { assertRefused, refusedWithoutTrace, settled } from '../http/refusal.ts';
import { type Caller, callerWith, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const MINUTE_MS = 60_000;

const createKey = async (parley: TestParley, body: object): Promise<Caller & { key: string }> => {
  const made = await parley.admin.call('POST', '/v1/keys', body);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return { ...callerWith(parley.transport, made.body.key), key: made.body.key };
};
const listKeys = async (caller: Caller, query = '') => (await caller.call('GET', `/v1/keys${query}`)).body.keys;
const isValid = async (caller: Caller) => (await caller.call('GET', '/v1/whoami')).status === 200;

describe('keys of an operator', () => {
  it('are listed by name with scope, expiry and last use, and never shown again', async (t) => {
    const parley = await testParley(t);
    const { clock } = parley;
    const expiresAt = new Date(clock.now() + 10 * MINUTE_MS).toISOString();
    const { key } = await createKey(parley, { name: 'console', scope: 'operate', expiresAt });
    const before = await listKeys(parley.admin);
    assert.deepEqual(before, [
      { name: 'admin', scope: 'admin', lastUsedAt: new Date(clock.now()).toISOString() },
      { name: 'console', scope: 'operate', createdAt: new Date(clock.now()).toISOString(), expiresAt },
    ]);
    assert.ok(await isValid(callerWith(parley.transport, key)));
    const [, used] = await listKeys(parley.admin);
    assert.equal(used.lastUsedAt, new Date(clock.now()).toISOString());
    assert.ok(!JSON.stringify(before).includes(key.slice(-49)));
  });

  it('end when they expire, also in a call that waits', async (t) => {
    const parley = await testParley(t);
    await parley.agent('worker', {});
    const expiresAt = new Date(parley.clock.now() + 5000).toISOString();
    const guest = await createKey(parley, { name: 'guest', scope: 'read', expiresAt });
    const waiting = guest.call('GET', '/v1/inbox?agent=worker&wait=20');
    await settled(parley);
    parley.clock.advance(4999);
    assert.ok(await isValid(guest));
    parley.clock.advance(1);
    assertRefused(await waiting, 401, 'unauthorized');
    assertRefused(await guest.call('GET', '/v1/tasks'), 401, 'unauthorized');
    assert.deepEqual(
      (await listKeys(parley.admin)).map(({ name }: { name: string }) => name),
      ['admin'],
    );
  });

  it('are refused where they were never valid: expired, of a name in use or reserved, or beyond an agent', async (t) => {
    const parley = await testParley(t);
    await parley.agent('worker', {});
    await createKey(parley, { name: 'console', scope: 'read' });
    const create = (body: object) => () => parley.admin.call('POST', '/v1/keys', { name: 'x', scope: 'read', ...body });
    const expiresAt = new Date(parley.clock.now()).toISOString();
    await refusedWithoutTrace(parley, 400, 'invalid_request', create({ expiresAt }));
    await refusedWithoutTrace(parley, 400, 'invalid_request', create({ name: 'admin' }));
    await refusedWithoutTrace(parley, 400, 'invalid_request', create({ agent: 'worker', scope: 'admin' }));
    await refusedWithoutTrace(parley, 404, 'agent_not_found', create({ agent: 'nobody' }));
    await refusedWithoutTrace(parley, 409, 'key_exists', create({ name: 'console' }));
  });

  it('say in whoami what they are and may do', async (t) => {
    const parley = await testParley(t);
    const operator = await createKey(parley, { name: 'console', scope: 'operate' });
    const { body } = await operator.call('GET', '/v1/whoami');
    const scopes = ['read', 'operate'];
    const expected = { project: 'default', role: 'operator', name: 'console', scope: 'operate', scopes };
    assert.deepEqual(body, { ...expected, isRotated: false });
    const relay = callerWith(parley.transport, (await parley.admin.call('POST', '/v1/relay/key')).body.key);
    assert.equal((await relay.call('GET', '/v1/whoami')).body.role, 'relay');
  });

  it('leave the key that Parley is started with to whoever starts it', async (t) => {
    const parley = await testParley(t);
    for (const [method, path] of [
      ['POST', '/v1/keys/admin/rotate'],
      ['DELETE', '/v1/keys/admin'],
    ] as const) {
      await refusedWithoutTrace(parley, 400, 'invalid_request', () => parley.admin.call(method, path));
    }
  });
});

describe('keys of an agent', () => {
  it('are several, each with a name, and one ends alone', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    const laptop = await createKey(parley, { name: 'laptop', agent: 'worker', scope: 'agent' });
    const waiting = worker.call('POST', '/v1/claims', { wait: 10 });
    const other = laptop.call('POST', '/v1/claims', { wait: 10 });
    await settled(parley);
    assert.equal((await parley.admin.call('DELETE', '/v1/keys/laptop?agent=worker')).status, 204);
    assertRefused(await other, 401, 'unauthorized');
    await refusedWithoutTrace(parley, 401, 'unauthorized', () =>
      laptop.call('POST', '/v1/messages', taskRequest('worker')),
    );
    await worker.request();
    assert.equal((await waiting).body.tasks.length, 1);
  });

  it('are replaced by the agent itself, and the earlier ones stay valid as long as it says', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    const { status, body } = await worker.call('POST', '/v1/keys/default/rotate', { overlapSeconds: 60 });
    assert.equal(status, 200, JSON.stringify(body));
    const renewed = callerWith(parley.transport, body.key);
    const expiresAt = new Date(parley.clock.now() + MINUTE_MS).toISOString();
    const old = (await worker.call('GET', '/v1/whoami')).body;
    assert.deepEqual([old.isRotated, old.expiresAt, old.agent], [true, expiresAt, 'worker']);
    const present = (await renewed.call('GET', '/v1/whoami')).body;
    assert.deepEqual([present.isRotated, present.expiresAt], [false, undefined]);
    assert.deepEqual((await listKeys(renewed))[0].previousKeys, [{ expiresAt }]);
    const waiting = worker.call('POST', '/v1/claims', { wait: 20 });
    const renewedWaiting = renewed.call('GET', '/v1/inbox?wait=20');
    await settled(parley);
    parley.clock.advance(MINUTE_MS);
    assertRefused(await waiting, 401, 'unauthorized');
    assert.equal((await renewedWaiting).status, 200);
    assert.deepEqual([await isValid(worker), await isValid(renewed)], [false, true]);
  });

  it('stay valid where the answer to a rotation was lost and it is repeated', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    const rotate = () => worker.call('POST', '/v1/keys/default/rotate', { overlapSeconds: 60 });
    await rotate();
    const { body } = await rotate();
    assert.deepEqual([await isValid(worker), await isValid(callerWith(parley.transport, body.key))], [true, true]);
  });

  it('cannot make, remove or replace those of anybody else', async (t) => {
    const parley = await testParley(t);
    const [worker] = [await parley.agent('worker'), await parley.agent('other', {})];
    const refuse = (code: 'forbidden' | 'from_mismatch', method: string, path: string, body?: object) =>
      refusedWithoutTrace(parley, 403, code, () => worker.call(method, path, body));
    await refuse('forbidden', 'POST', '/v1/keys', { name: 'more', agent: 'worker', scope: 'agent' });
    await refuse('forbidden', 'DELETE', '/v1/keys/default?agent=worker');
    await refuse('from_mismatch', 'POST', '/v1/keys/default/rotate', { agent: 'other' });
    await refuse('from_mismatch', 'GET', '/v1/keys?agent=other');
    const gateway = await createKey(parley, { name: 'gateway', scope: 'agent' });
    await refusedWithoutTrace(parley, 403, 'forbidden', () =>
      gateway.call('POST', '/v1/keys/default/rotate', { agent: 'worker' }),
    );
  });

  it('that only read take nothing from the inbox and claim nothing', async (t) => {
    const parley = await testParley(t);
    const [worker, requester] = [await parley.agent('worker', { inbox: 'all' }), await parley.agent('requester', {})];
    const reader = await createKey(parley, { name: 'dashboard', agent: 'worker', scope: 'read' });
    await requester.request({ to: 'worker' });
    await settled(parley);
    assert.equal((await reader.call('GET', '/v1/inbox')).status, 200);
    for (const query of ['mode=take', 'claim=true'])
      assertRefused(await reader.call('GET', `/v1/inbox?${query}`), 403, 'forbidden');
    assert.equal((await worker.claim()).length, 1);
  });
});

describe('reads and writes for keys', () => {
  const countCalls = () => {
    const calls: string[] = [];
    const count =
      <A extends unknown[], R>(name: string, call: (...args: A) => R) =>
      (...args: A): R => {
        calls.push(name);
        return call(...args);
      };
    const wrapPorts = (ports: Ports): Ports => {
      const { get, query, update } = ports.records;
      const records = { ...ports.records };
      records.get = count('get', get) as typeof get;
      records.query = count('query', query) as typeof query;
      records.update = count('update', update) as typeof update;
      return { ...ports, records };
    };
    return { calls, wrapPorts };
  };

  it('are none for a key whose checksum is wrong', async (t) => {
    const { calls, wrapPorts } = countCalls();
    const parley = await testParley(t, { wrapPorts });
    const { key } = await parley.agent('worker');
    await settled(parley);
    calls.length = 0;
    const wrong = [`${key}x`, key.slice(0, -1), key.replace('worker', 'warker'), 'prl_', 'prl_default.worker.x'];
    for (const one of wrong)
      assertRefused(await callerWith(parley.transport, one).call('GET', '/v1/tasks'), 401, 'unauthorized');
    assert.deepEqual(calls, []);
  });

  it('are a few for any number of wrong keys of one owner', async (t) => {
    const { calls, wrapPorts } = countCalls();
    const parley = await testParley(t, { wrapPorts });
    await parley.agent('worker');
    await settled(parley);
    calls.length = 0;
    for (let n = 0; n < 50; n++) {
      for (const key of [generateKey('default', 'worker'), `any text ${n}`.replaceAll(' ', '-')])
        assertRefused(await callerWith(parley.transport, key).call('GET', '/v1/tasks'), 401, 'unauthorized');
    }
    assert.ok(calls.length <= 25, `${calls.length}`);
  });

  it('tell the last use of a key in one write for ten minutes of calls', async (t) => {
    const { calls, wrapPorts } = countCalls();
    const parley = await testParley(t, { wrapPorts });
    const console = await createKey(parley, { name: 'console', scope: 'read' });
    const read = async (ms: number): Promise<number> => {
      calls.length = 0;
      await Promise.all(Array.from({ length: 20 }, () => console.call('GET', '/v1/whoami')));
      parley.clock.advance(ms);
      return calls.filter((call) => call === 'update').length;
    };
    assert.deepEqual([await read(MINUTE_MS), await read(9 * MINUTE_MS), await read(0)], [1, 0, 1]);
    await eventually(async () => assert.ok((await listKeys(parley.admin))[1].lastUsedAt));
  });
});
