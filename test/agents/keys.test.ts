import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { generateKey } from '../../shared/identity/auth/keys.ts';
import { assertRefused, refusedWithoutTrace } from '../http/refusal.ts';
import { callerWith, registered, TestAgent, taskRequest } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

const OPEN = ['/healthz', '/openapi.json', '/asyncapi.json'];
const CLOSED: [method: string, path: string][] = [
  ['POST', '/v1/messages'],
  ['GET', '/v1/tasks'],
  ['GET', '/v1/tasks/any'],
  ['POST', '/v1/claims'],
  ['GET', '/v1/inbox'],
  ['POST', '/v1/inbox/ack'],
  ['GET', '/v1/agents'],
  ['PUT', '/v1/agents/new-worker'],
  ['DELETE', '/v1/agents/worker'],
  ['POST', '/v1/agents/worker/key'],
  ['GET', '/v1/events'],
  ['GET', '/v1/dead-letters'],
  ['GET', '/v1/domains'],
];

describe('authentication', () => {
  it('rejects a call without a key without a trace, except on public paths', async (t) => {
    const parley = await testParley(t);
    await parley.agent('worker');
    const nobody = callerWith(parley.transport, undefined);
    for (const [method, path] of CLOSED) {
      await refusedWithoutTrace(parley, 401, 'unauthorized', () => nobody.call(method, path, {}));
    }
    for (const path of OPEN) assert.equal((await nobody.call('GET', path)).status, 200);
  });

  it('rejects a call with a wrong key without a trace', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    const wrong = [
      generateKey('default', 'worker'),
      generateKey('default', 'nobody'),
      generateKey('default', '@admin'),
      generateKey('elsewhere', 'worker'),
      generateKey('constructor', '@admin'),
      worker.key.slice(0, -1),
      `${worker.key}A`,
      worker.key.toUpperCase(),
      worker.key.replace('.worker.', '.@admin.'),
      'an-admin-key-for-test',
      'prl_',
      'prl_default.worker.',
      'ключ',
      '__proto__',
    ];
    for (const key of wrong) {
      const caller = callerWith(parley.transport, key);
      await refusedWithoutTrace(parley, 401, 'unauthorized', () =>
        caller.call('POST', '/v1/messages', taskRequest('worker')),
      );
    }
  });

  it('rejects an Authorization header without a bearer key', async (t) => {
    const { agent, transport } = await testParley(t);
    const { key } = await agent('worker');
    for (const authorization of ['', 'Bearer', 'Bearer ', key, `Basic ${key}`, `Bearer ${key} x`, `Bearer: ${key}`]) {
      assertRefused(await transport('GET', '/v1/tasks', { authorization }, undefined), 401, 'unauthorized');
    }
    for (const authorization of [`Bearer ${key}`, `bearer  ${key}`]) {
      assert.equal((await transport('GET', '/v1/tasks', { authorization }, undefined)).status, 200);
    }
  });
});

describe('agent key', () => {
  it('rejects a rotated key at once and accepts the new one', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    const id = await worker.request();
    const { status, body } = await parley.admin.call('POST', '/v1/agents/worker/key');
    assert.equal(status, 200);
    await refusedWithoutTrace(parley, 401, 'unauthorized', () => worker.send(taskRequest('worker')));
    assert.equal((await new TestAgent('worker', body.key, parley.transport).task(id)).id, id);
  });

  it('rejects the key of a deleted agent, also after the agent is registered again', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    await worker.request();
    await parley.admin.call('DELETE', '/v1/agents/worker');
    await refusedWithoutTrace(parley, 401, 'unauthorized', () => worker.send(taskRequest('worker')));
    const again = await registered(parley.transport, parley.admin, 'worker', {}, '?inherit=true');
    await refusedWithoutTrace(parley, 401, 'unauthorized', () => worker.send(taskRequest('worker')));
    await again.request();
  });

  it('accepts a key after a restart', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    await parley.restart();
    await worker.request();
  });

  it('stores a key only as a hash', async (t) => {
    const parley = await testParley(t);
    const worker = await parley.agent('worker');
    await worker.request();
    const { body } = await parley.admin.call('POST', '/v1/agents/worker/key');
    const files = readdirSync(parley.dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const stored = Buffer.concat(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name))));
    assert.ok(stored.includes('default#agent#worker'), 'the agent itself is found in the files');
    for (const key of [worker.key, body.key]) {
      const secret = key.split('.').at(-1);
      assert.equal(secret.length, 43 + 6, 'with its checksum');
      assert.ok(!stored.includes(secret));
      assert.ok(!stored.includes(Buffer.from(secret.slice(0, 43), 'base64url')));
    }
    assert.ok(!stored.includes('an-admin-key-for-tests'));
  });

  it('shows a key only in the reply that created it', async (t) => {
    const { agent, admin } = await testParley(t);
    await agent('worker');
    for (const path of ['/v1/agents', '/v1/agents/worker', '/v1/events']) {
      const text = JSON.stringify((await admin.call('GET', path)).body);
      assert.doesNotMatch(text, /prl_|keyHash/);
    }
  });
});
