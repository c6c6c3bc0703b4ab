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
  ['PUT', '/v1/agents/kay'],
  ['DELETE', '/v1/agents/tim'],
  ['POST', '/v1/agents/tim/key'],
  ['GET', '/v1/events'],
  ['GET', '/v1/dead-letters'],
  ['GET', '/v1/domains'],
];

describe('a call', () => {
  it('without a key is refused, and changes nothing, but where the call is open to all', async (t) => {
    const parley = await testParley(t);
    await parley.agent('tim');
    const nobody = callerWith(parley.transport, undefined);
    for (const [method, path] of CLOSED) {
      await refusedWithoutTrace(parley, 401, 'unauthorized', () => nobody.call(method, path, {}));
    }
    for (const path of OPEN) assert.equal((await nobody.call('GET', path)).status, 200);
  });

  it('with a key that is not right is refused, and changes nothing', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const wrong = [
      generateKey('default', 'tim'),
      generateKey('default', 'nobody'),
      generateKey('default', '@admin'),
      generateKey('elsewhere', 'tim'),
      generateKey('constructor', '@admin'),
      tim.key.slice(0, -1),
      `${tim.key}A`,
      tim.key.toUpperCase(),
      tim.key.replace('.tim.', '.@admin.'),
      'an-admin-key-for-test',
      'prl_',
      'prl_default.tim.',
      'ключ',
      '__proto__',
    ];
    for (const key of wrong) {
      const caller = callerWith(parley.transport, key);
      await refusedWithoutTrace(parley, 401, 'unauthorized', () =>
        caller.call('POST', '/v1/messages', taskRequest('tim')),
      );
    }
  });

  it('with a header that is no bearer key is refused', async (t) => {
    const { agent, transport } = await testParley(t);
    const { key } = await agent('tim');
    for (const authorization of ['', 'Bearer', 'Bearer ', key, `Basic ${key}`, `Bearer ${key} x`, `Bearer: ${key}`]) {
      assertRefused(await transport('GET', '/v1/tasks', { authorization }, undefined), 401, 'unauthorized');
    }
    for (const authorization of [`Bearer ${key}`, `bearer  ${key}`]) {
      assert.equal((await transport('GET', '/v1/tasks', { authorization }, undefined)).status, 200);
    }
  });
});

describe('a key', () => {
  it('that was rotated stops working at once, and the new one works', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    const id = await tim.request();
    const { status, body } = await parley.admin.call('POST', '/v1/agents/tim/key');
    assert.equal(status, 200);
    await refusedWithoutTrace(parley, 401, 'unauthorized', () => tim.send(taskRequest('tim')));
    assert.equal((await new TestAgent('tim', body.key, parley.transport).task(id)).id, id);
  });

  it('of a deleted agent stops working at once, also when the agent is registered again', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    await tim.request();
    await parley.admin.call('DELETE', '/v1/agents/tim');
    await refusedWithoutTrace(parley, 401, 'unauthorized', () => tim.send(taskRequest('tim')));
    const again = await registered(parley.transport, parley.admin, 'tim', {}, '?inherit=true');
    await refusedWithoutTrace(parley, 401, 'unauthorized', () => tim.send(taskRequest('tim')));
    await again.request();
  });

  it('works after a restart', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    await parley.restart();
    await tim.request();
  });

  it('is stored as a hash only', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim');
    await tim.request();
    const { body } = await parley.admin.call('POST', '/v1/agents/tim/key');
    const files = readdirSync(parley.dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const stored = Buffer.concat(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name))));
    assert.ok(stored.includes('default#agent#tim'), 'the agent itself is found in the files');
    for (const key of [tim.key, body.key]) {
      const secret = key.split('.').at(-1);
      assert.equal(secret.length, 43);
      assert.ok(!stored.includes(secret));
      assert.ok(!stored.includes(Buffer.from(secret, 'base64url')));
    }
    assert.ok(!stored.includes('an-admin-key-for-tests'));
  });

  it('is shown by no call but the one that made it', async (t) => {
    const { agent, admin } = await testParley(t);
    await agent('tim');
    for (const path of ['/v1/agents', '/v1/agents/tim', '/v1/events']) {
      const text = JSON.stringify((await admin.call('GET', path)).body);
      assert.doesNotMatch(text, /prl_|keyHash/);
    }
  });
});
