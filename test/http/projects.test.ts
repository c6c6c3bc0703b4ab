import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import baseConfig from '../../parley.config.ts';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { ADMIN_OWNER, generateKey } from '../../shared/identity/auth/keys.ts';
import { setAdminKey } from '../../shared/identity/auth/set-operator-key.ts';
import { type Caller, callerWith, registered, taskRequest } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';
import { assertRefused, settled } from './refusal.ts';

/** Two projects, each with an administrator, a requester and a worker. */
const twoProjects = async (t: TestContext) => {
  const { default: project } = baseConfig.projects;
  assert.ok(project);
  const via = 'http' as const;
  const domains = {
    security: { description: 'the same name', transport: via },
    alchemy: { description: 'only here', transport: via },
  };
  const other = { domains, relay: false };
  const parley = await testParley(t, { config: { projects: { default: project, other } } });
  const key = generateKey('other', ADMIN_OWNER);
  await setAdminKey(parley.parley.deps.records, 'other', key, 'the-admin-of-other');
  const otherAdmin = callerWith(parley.transport, key);
  const pair = async (admin: Caller) => ({
    admin,
    requester: await registered(parley.transport, admin, 'requester'),
    worker: await registered(parley.transport, admin, 'worker'),
  });
  return { parley, here: await pair(parley.admin), there: await pair(otherAdmin) };
};

describe('project isolation', () => {
  it('keeps agents of the same id in two projects apart, each with its own key', async (t) => {
    const { here, there } = await twoProjects(t);
    assert.notEqual(here.requester.key, there.requester.key);
    await there.admin.call('PUT', '/v1/agents/newcomer', { dialect: 'round-table' });
    assertRefused(await here.admin.call('GET', '/v1/agents/newcomer'), 404, 'agent_not_found');
    await there.admin.call('DELETE', '/v1/agents/requester');
    assert.equal((await here.requester.call('GET', '/v1/tasks')).status, 200);
    assertRefused(await there.requester.call('GET', '/v1/tasks'), 401, 'unauthorized');
  });

  it('rejects a key that is renamed to another project', async (t) => {
    const { parley, here, there } = await twoProjects(t);
    const forged = callerWith(parley.transport, there.requester.key.replace('prl_other.', 'prl_default.'));
    assertRefused(await forged.call('GET', '/v1/tasks'), 401, 'unauthorized');
    const back = callerWith(parley.transport, here.requester.key.replace('prl_default.', 'prl_other.'));
    assertRefused(await back.call('GET', '/v1/tasks'), 401, 'unauthorized');
  });

  it('never gives a task to an agent of another project', async (t) => {
    const { here, there } = await twoProjects(t);
    const id = await there.requester.request();
    const directed = await there.requester.request({ to: 'worker' });
    assert.deepEqual(await here.worker.claim({ max: 10 }), []);
    assertRefused(await here.worker.claimed(id), 404, 'task_not_found');
    assertRefused(await here.worker.complete(directed), 404, 'task_not_found');
    for (const act of ['cancel', 'retry', 'renew']) {
      assertRefused(await here.requester.call('POST', `/v1/tasks/${id}/${act}`), 404, 'task_not_found');
    }
    assert.equal((await there.worker.claim({ max: 10 })).length, 2);
  });

  it('hides tasks, inboxes and events from other projects, also from their administrators', async (t) => {
    const { parley, here, there } = await twoProjects(t);
    const id = await there.requester.request();
    await there.worker.fail(id, { error: 'skill_missing' });
    assert.equal((await there.requester.inbox(20)).length, 1);
    await settled(parley);
    assert.deepEqual(await here.requester.inbox(), []);
    for (const caller of [here.requester, here.admin]) {
      assertRefused(await caller.call('GET', `/v1/tasks/${id}`), 404, 'task_not_found');
    }
    assert.deepEqual((await here.requester.call('GET', '/v1/tasks')).body.tasks, []);
    assert.deepEqual((await here.admin.call('GET', '/v1/dead-letters')).body.tasks, []);
    const { events } = (await here.admin.call('GET', '/v1/events')).body;
    assert.ok(events.every(({ project }: { project: string }) => project === 'default'));
    const { events: theirs } = (await there.admin.call('GET', '/v1/events')).body;
    assert.ok(theirs.some(({ data }: { data: { taskId: string } }) => data.taskId === id));
    assert.ok(theirs.every(({ project }: { project: string }) => project === 'other'));
  });

  it('starts the live stream of each project at the end of its own log', async (t) => {
    const { parley, here, there } = await twoProjects(t);
    for (const { requester } of [there, here]) await requester.request();
    await there.requester.request();
    await settled(parley);
    for (const { admin, requester } of [here, there]) {
      const { body } = await parley.parley.handle({
        method: 'GET',
        path: '/v1/events',
        query: '',
        headers: { authorization: `Bearer ${requester.key}`, accept: 'text/event-stream' },
        readBody: createBodyReader(Buffer.of()),
        signal: AbortSignal.abort(),
      });
      assert.ok(!(body instanceof Uint8Array) && typeof body !== 'string');
      const { cursor } = (await admin.call('GET', '/v1/events')).body;
      for await (const piece of body) assert.equal(piece, `id: ${cursor}\n\n`);
    }
  });

  it('accepts the same task id in two projects', async (t) => {
    const { here, there } = await twoProjects(t);
    const request = taskRequest('requester');
    assert.equal((await here.requester.send(request)).status, 202);
    assert.equal((await there.requester.send({ ...request, priority: 'high' })).status, 202);
    await here.worker.complete(request.id, { from: 'here' });
    assert.equal((await there.requester.task(request.id)).state, 'requested');
    await there.worker.complete(request.id, { from: 'there' });
    assert.deepEqual((await here.requester.inbox(20))[0].payload.result, { from: 'here' });
    assert.deepEqual((await there.requester.inbox(20))[0].payload.result, { from: 'there' });
  });

  it('resolves domains and agents only within the project', async (t) => {
    const { here, there } = await twoProjects(t);
    const gold = { payload: { task: 'alchemy.gold' } };
    await there.requester.request(gold);
    assertRefused(await here.requester.send(taskRequest('requester', gold)), 422, 'unknown_domain');
    await there.admin.call('PUT', '/v1/agents/newcomer', { dialect: 'round-table' });
    assertRefused(await here.requester.send(taskRequest('requester', { to: 'newcomer' })), 422, 'unknown_agent');
    const { domains } = (await there.requester.call('GET', '/v1/domains')).body;
    assert.deepEqual(
      domains.map(({ name }: { name: string }) => name),
      ['security', 'alchemy'],
    );
  });

  it('keeps claims with the same claimId in two projects apart', async (t) => {
    const { here, there } = await twoProjects(t);
    const [mine, theirs] = [await here.requester.request(), await there.requester.request()];
    assert.equal((await here.worker.claim({ claimId: 'once' }))[0].message.id, mine);
    assert.equal((await there.worker.claim({ claimId: 'once' }))[0].message.id, theirs);
  });
});
