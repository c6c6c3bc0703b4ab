import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import baseConfig from '../../parley.config.ts';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { ADMIN_OWNER, generateKey, setAdminKey } from '../../shared/identity/auth/keys.ts';
import { type Caller, callerWith, registered, taskRequest } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';
import { assertRefused, settled } from './refusal.ts';

/** Two projects, each with an administrator, a tim who asks and a galahad who works. */
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
    tim: await registered(parley.transport, admin, 'tim'),
    galahad: await registered(parley.transport, admin, 'galahad'),
  });
  return { parley, here: await pair(parley.admin), there: await pair(otherAdmin) };
};

describe('two projects', () => {
  it('have agents of the same name with keys of their own', async (t) => {
    const { here, there } = await twoProjects(t);
    assert.notEqual(here.tim.key, there.tim.key);
    await there.admin.call('PUT', '/v1/agents/merlin', { dialect: 'round-table' });
    assertRefused(await here.admin.call('GET', '/v1/agents/merlin'), 404, 'agent_not_found');
    await there.admin.call('DELETE', '/v1/agents/tim');
    assert.equal((await here.tim.call('GET', '/v1/tasks')).status, 200);
    assertRefused(await there.tim.call('GET', '/v1/tasks'), 401, 'unauthorized');
  });

  it('do not take a key of the other under their own name', async (t) => {
    const { parley, here, there } = await twoProjects(t);
    const forged = callerWith(parley.transport, there.tim.key.replace('prl_other.', 'prl_default.'));
    assertRefused(await forged.call('GET', '/v1/tasks'), 401, 'unauthorized');
    const back = callerWith(parley.transport, here.tim.key.replace('prl_default.', 'prl_other.'));
    assertRefused(await back.call('GET', '/v1/tasks'), 401, 'unauthorized');
  });

  it('never give a task to the other', async (t) => {
    const { here, there } = await twoProjects(t);
    const id = await there.tim.request();
    const directed = await there.tim.request({ to: 'galahad' });
    assert.deepEqual(await here.galahad.claim({ max: 10 }), []);
    assertRefused(await here.galahad.claimed(id), 404, 'task_not_found');
    assertRefused(await here.galahad.complete(directed), 404, 'task_not_found');
    for (const act of ['cancel', 'retry', 'renew']) {
      assertRefused(await here.tim.call('POST', `/v1/tasks/${id}/${act}`), 404, 'task_not_found');
    }
    assert.equal((await there.galahad.claim({ max: 10 })).length, 2);
  });

  it('see no task, inbox or event of the other, also their administrators', async (t) => {
    const { parley, here, there } = await twoProjects(t);
    const id = await there.tim.request();
    await there.galahad.fail(id, { error: 'skill_missing' });
    assert.equal((await there.tim.inbox(20)).length, 1);
    await settled(parley);
    assert.deepEqual(await here.tim.inbox(), []);
    for (const caller of [here.tim, here.admin]) {
      assertRefused(await caller.call('GET', `/v1/tasks/${id}`), 404, 'task_not_found');
    }
    assert.deepEqual((await here.tim.call('GET', '/v1/tasks')).body.tasks, []);
    assert.deepEqual((await here.admin.call('GET', '/v1/dead-letters')).body.tasks, []);
    const { events } = (await here.admin.call('GET', '/v1/events')).body;
    assert.ok(events.every(({ project }: { project: string }) => project === 'default'));
    const { events: theirs } = (await there.admin.call('GET', '/v1/events')).body;
    assert.ok(theirs.some(({ data }: { data: { taskId: string } }) => data.taskId === id));
    assert.ok(theirs.every(({ project }: { project: string }) => project === 'other'));
  });

  it('begin their live streams each at the end of its own log', async (t) => {
    const { parley, here, there } = await twoProjects(t);
    for (const { tim } of [there, here]) await tim.request();
    await there.tim.request();
    await settled(parley);
    for (const { admin, tim } of [here, there]) {
      const { body } = await parley.parley.handle({
        method: 'GET',
        path: '/v1/events',
        query: '',
        headers: { authorization: `Bearer ${tim.key}`, accept: 'text/event-stream' },
        readBody: createBodyReader(Buffer.of()),
        signal: AbortSignal.abort(),
      });
      assert.ok(!(body instanceof Uint8Array) && typeof body !== 'string');
      const { cursor } = (await admin.call('GET', '/v1/events')).body;
      for await (const piece of body) assert.equal(piece, `id: ${cursor}\n\n`);
    }
  });

  it('can use the same id for different tasks', async (t) => {
    const { here, there } = await twoProjects(t);
    const request = taskRequest('tim');
    assert.equal((await here.tim.send(request)).status, 202);
    assert.equal((await there.tim.send({ ...request, priority: 'high' })).status, 202);
    await here.galahad.complete(request.id, { from: 'here' });
    assert.equal((await there.tim.task(request.id)).state, 'requested');
    await there.galahad.complete(request.id, { from: 'there' });
    assert.deepEqual((await here.tim.inbox(20))[0].payload.result, { from: 'here' });
    assert.deepEqual((await there.tim.inbox(20))[0].payload.result, { from: 'there' });
  });

  it('know only their own domains and addressees', async (t) => {
    const { here, there } = await twoProjects(t);
    const gold = { payload: { task: 'alchemy.gold' } };
    await there.tim.request(gold);
    assertRefused(await here.tim.send(taskRequest('tim', gold)), 422, 'unknown_domain');
    await there.admin.call('PUT', '/v1/agents/merlin', { dialect: 'round-table' });
    assertRefused(await here.tim.send(taskRequest('tim', { to: 'merlin' })), 422, 'unknown_agent');
    const { domains } = (await there.tim.call('GET', '/v1/domains')).body;
    assert.deepEqual(
      domains.map(({ name }: { name: string }) => name),
      ['security', 'alchemy'],
    );
  });

  it('keep claims with the same claimId apart', async (t) => {
    const { here, there } = await twoProjects(t);
    const [mine, theirs] = [await here.tim.request(), await there.tim.request()];
    assert.equal((await here.galahad.claim({ claimId: 'once' }))[0].message.id, mine);
    assert.equal((await there.galahad.claim({ claimId: 'once' }))[0].message.id, theirs);
  });
});
