import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import baseConfig from '../../parley.config.ts';
import { type ApiKey, apiKeyRef } from '../../shared/identity/auth/api-key.ts';
import { generateKey, hashKey, toOperatorOwner } from '../../shared/identity/auth/keys.ts';
import { assertRefused } from '../http/refusal.ts';
import { type Caller, callerWith, registered } from '../support/api.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const DOMAINS = { kitchen: { description: 'dishes' } };
const request = () => ({ kind: 'request', id: randomUUID(), capability: 'kitchen.cook', input: {} });

const create = async ({ admin, transport }: TestParley, name: string, query = '') => {
  const { status, body } = await admin.call('PUT', `/v1/projects/${name}${query}`, { domains: DOMAINS });
  assert.equal(status, 201, JSON.stringify(body));
  return { project: body.project, key: String(body.key), owner: callerWith(transport, body.key) };
};

const listNames = async (caller: Caller): Promise<string[]> =>
  (await caller.call('GET', '/v1/projects')).body.projects.map(({ name }: { name: string }) => name);

/** A project with an agent that has work. */
const withWork = async (t: TestContext) => {
  const parley = await testParley(t);
  const { owner } = await create(parley, 'acme');
  const cook = await registered(parley.transport, owner, 'cook', { dialect: 'native', capabilities: ['kitchen.cook'] });
  const { id, ...task } = request();
  assert.equal((await cook.send({ id, ...task })).status, 202);
  return { parley, owner, cook, taskId: id };
};

describe('a project that a call creates', () => {
  it('has a key that is told once, its own domains and agents, and nothing of other projects', async (t) => {
    const parley = await testParley(t);
    const { project, key, owner } = await create(parley, 'acme');
    assert.deepEqual(project.domains, [{ name: 'kitchen', description: 'dishes' }]);
    assert.equal(project.source, 'call');
    const again = await parley.admin.call('PUT', '/v1/projects/acme', { domains: DOMAINS });
    assert.deepEqual([again.status, again.body.key], [200, undefined]);
    assert.deepEqual((await owner.call('GET', '/v1/domains')).body.domains, project.domains);
    assert.equal((await owner.call('GET', '/v1/whoami')).body.project, 'acme');
    const cook = await registered(parley.transport, owner, 'cook', {
      dialect: 'native',
      capabilities: ['kitchen.cook'],
    });
    assert.equal((await cook.send(request())).status, 202);
    assert.equal((await cook.claim()).length, 1);
    assert.deepEqual((await parley.admin.call('GET', '/v1/agents')).body.agents, []);
    assert.deepEqual((await parley.admin.call('GET', '/v1/tasks')).body.tasks, []);
    assert.ok(!JSON.stringify((await parley.admin.call('GET', '/v1/projects')).body).includes(key));
  });

  it('is there after a restart, beside those of the configuration, and with a new configuration', async (t) => {
    const parley = await testParley(t);
    const { owner } = await create(parley, 'acme');
    await parley.restart();
    assert.deepEqual(await listNames(parley.admin), ['acme', 'default']);
    assert.equal((await owner.call('GET', '/v1/domains')).body.domains[0].name, 'kitchen');
    parley.parley.setConfig({ ...parley.parley.getConfig(), projects: baseConfig.projects });
    assert.deepEqual(await listNames(parley.admin), ['acme', 'default']);
    assert.deepEqual(Object.keys(parley.parley.getConfig().projects), ['default']);
  });

  it('takes other domains at once', async (t) => {
    const parley = await testParley(t);
    const { owner } = await create(parley, 'acme');
    const garden = { garden: { description: 'plants' } };
    assert.equal((await parley.admin.call('PUT', '/v1/projects/acme', { domains: garden })).status, 200);
    assert.deepEqual((await owner.call('GET', '/v1/domains')).body.domains, [
      { name: 'garden', description: 'plants' },
    ]);
    const cook = { dialect: 'native', capabilities: ['kitchen.cook'] };
    assertRefused(await owner.call('PUT', '/v1/agents/cook', cook), 422, 'unknown_domain');
  });

  it('gets another key from the default project where the first was lost, and the first ends', async (t) => {
    const parley = await testParley(t);
    const { owner } = await create(parley, 'acme');
    const rotated = await parley.admin.call('POST', '/v1/projects/acme/key');
    assert.equal((await callerWith(parley.transport, rotated.body.key).call('GET', '/v1/agents')).status, 200);
    assertRefused(await owner.call('GET', '/v1/agents'), 401, 'unauthorized');
    const own = callerWith(parley.transport, rotated.body.key);
    assert.equal((await own.call('DELETE', '/v1/keys/owner')).status, 204);
    const made = await parley.admin.call('POST', '/v1/projects/acme/key');
    assert.equal((await callerWith(parley.transport, made.body.key).call('GET', '/v1/agents')).status, 200);
  });

  it('has nothing of a project that the configuration once had, unless it is to inherit it, and no key of that', async (t) => {
    const parley = await testParley(t);
    const { records, newId } = parley.parley.deps;
    const earlier = { ...apiKeyRef('acme', undefined, 'owner'), sk: 'key#owner' as const, project: 'acme' };
    await records.create<ApiKey>(
      { ...earlier, name: 'owner', scope: 'admin', keyHash: 'of a key that is lost' },
      newId(),
    );
    const oldKey = generateKey('acme', toOperatorOwner('ops'));
    const ops = { ...apiKeyRef('acme', undefined, 'ops'), sk: 'key#ops' as const, project: 'acme' };
    await records.create<ApiKey>({ ...ops, name: 'ops', scope: 'admin', keyHash: hashKey(oldKey) }, newId());
    const refused = await parley.admin.call('PUT', '/v1/projects/acme', { domains: DOMAINS });
    assertRefused(refused, 409, 'project_removed');
    const { owner } = await create(parley, 'acme', '?inherit=true');
    assert.equal((await owner.call('GET', '/v1/agents')).status, 200);
    assert.equal((await callerWith(parley.transport, oldKey).call('GET', '/v1/agents')).status, 401);
  });

  it('is created once by several calls at the same time, and the one key that is told works', async (t) => {
    const parley = await testParley(t);
    const replies = await Promise.all(
      [1, 2, 3].map(() => parley.admin.call('PUT', '/v1/projects/acme', { domains: DOMAINS })),
    );
    const told = replies.filter(({ body }) => body.key !== undefined);
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 200, 201]);
    assert.equal(told.length, 1);
    const owner = callerWith(parley.transport, told[0]?.body.key);
    assert.equal((await owner.call('GET', '/v1/agents')).status, 200);
  });
});

describe('who may manage projects', () => {
  it('are admin keys of the default project; others see their own and change none', async (t) => {
    const parley = await testParley(t);
    const { owner } = await create(parley, 'acme');
    await create(parley, 'other');
    assert.deepEqual(await listNames(parley.admin), ['acme', 'default', 'other']);
    assert.deepEqual(await listNames(owner), ['acme']);
    const calls: [string, string, object?][] = [
      ['PUT', '/v1/projects/acme', { domains: {} }],
      ['PUT', '/v1/projects/new', { domains: {} }],
      ['POST', '/v1/projects/other/key'],
      ['DELETE', '/v1/projects/other'],
    ];
    for (const [method, path, body] of calls) assertRefused(await owner.call(method, path, body), 403, 'forbidden');
    const { body } = await parley.admin.call('POST', '/v1/keys', { name: 'ops', scope: 'operate' });
    for (const [method, path, sent] of calls)
      assertRefused(await callerWith(parley.transport, body.key).call(method, path, sent), 403, 'forbidden');
    assert.deepEqual(await listNames(callerWith(parley.transport, body.key)), ['acme', 'default', 'other']);
  });

  it('cannot change or remove a project of the configuration', async (t) => {
    const { admin } = await testParley(t);
    for (const [method, path] of [
      ['PUT', '/v1/projects/default'],
      ['POST', '/v1/projects/default/key'],
      ['DELETE', '/v1/projects/default'],
    ] as const) {
      const reply = await admin.call(method, path, method === 'PUT' ? { domains: {} } : undefined);
      assertRefused(reply, 409, 'project_configured');
    }
    assertRefused(await admin.call('PUT', '/v1/projects/Not_A_Name', { domains: {} }), 400, 'invalid_request');
    assertRefused(await admin.call('DELETE', '/v1/projects/none'), 404, 'project_not_found');
  });
});

describe('the removal of a project', () => {
  it('is refused while it has agents or open work, and names what is left', async (t) => {
    const { parley, owner, cook, taskId } = await withWork(t);
    const refused = await parley.admin.call('DELETE', '/v1/projects/acme');
    assertRefused(refused, 409, 'project_not_empty');
    assert.deepEqual(refused.body.remaining, ['agents', 'open tasks']);
    assert.equal((await cook.call('POST', `/v1/tasks/${taskId}/cancel`, {})).status, 200);
    assert.equal((await owner.call('DELETE', '/v1/agents/cook')).status, 204);
    assert.equal((await parley.admin.call('DELETE', '/v1/projects/acme')).status, 204);
    assert.deepEqual(await listNames(parley.admin), ['default']);
  });

  it('ends its keys at once, and what is stored of it reaches nobody who takes the name', async (t) => {
    const { parley, owner, cook, taskId } = await withWork(t);
    await cook.call('POST', `/v1/tasks/${taskId}/cancel`, {});
    await owner.call('DELETE', '/v1/agents/cook');
    assert.equal((await parley.admin.call('DELETE', '/v1/projects/acme')).status, 204);
    assertRefused(await owner.call('GET', '/v1/agents'), 401, 'unauthorized');
    await parley.restart();
    assertRefused(await owner.call('GET', '/v1/agents'), 401, 'unauthorized');
    const taken = await parley.admin.call('PUT', '/v1/projects/acme', { domains: DOMAINS });
    assertRefused(taken, 409, 'project_removed');
    const heir = await create(parley, 'acme', '?inherit=true');
    assert.equal((await heir.owner.call('GET', `/v1/tasks/${taskId}`)).status, 200);
    assertRefused(await owner.call('GET', '/v1/agents'), 401, 'unauthorized');
  });

  it('frees the name when nothing of it is stored any more', async (t) => {
    const parley = await testParley(t);
    await create(parley, 'acme');
    assert.equal((await parley.admin.call('DELETE', '/v1/projects/acme')).status, 204);
    const { body } = await parley.admin.call('PUT', '/v1/projects/acme', { domains: DOMAINS });
    assert.equal(body.code, 'project_removed');
    parley.clock.advance(Date.parse(body.freeAt) - parley.clock.now());
    await create(parley, 'acme');
  });

  it('leaves no key of an agent valid that was registered while it was removed', async (t) => {
    const parley = await testParley(t);
    const { owner } = await create(parley, 'acme');
    const [removed, made] = await Promise.all([
      parley.admin.call('DELETE', '/v1/projects/acme'),
      owner.call('PUT', '/v1/agents/late', { dialect: 'native' }),
    ]);
    if (removed.status !== 204 || made.status !== 201) return;
    const late = callerWith(parley.transport, made.body.key);
    assertRefused(await late.call('GET', '/v1/whoami'), 401, 'unauthorized');
  });
});
