import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, settled } from '../http/refusal.ts';
import { callerWith, registered } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, Worker } from '../support/ground.ts';
import { testParley } from '../support/test-parley.ts';

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const requester = await parley.agent('requester', { capabilities: [] });
  const worker = await parley.agent('worker');
  const control = (action: string, body?: object) => parley.admin.call('POST', `/v1/agents/worker/${action}`, body);
  const claim = async (options: object = {}) => (await worker.call('POST', '/v1/claims', options)).body;
  return { parley, requester, worker, control, claim };
};

describe('an agent that an operator controls by call', () => {
  it('gets no new task while it is paused, and goes on with those that it holds', async (t) => {
    const { parley, requester, worker, control, claim } = await start(t);
    const held = await requester.request();
    assert.equal((await claim()).tasks.length, 1);
    const { body } = await control('pause', { reason: 'a look at its disk' });
    assert.deepEqual(
      [body.paused.action, body.paused.by, body.paused.reason],
      ['pause', 'admin', 'a look at its disk'],
    );
    const waiting = await requester.request();
    assert.deepEqual((await claim()).tasks, []);
    assert.equal((await worker.progress(held)).status, 202);
    assert.equal((await worker.complete(held)).status, 202);
    assert.equal((await requester.task(waiting)).state, 'requested');
    assert.equal((await control('resume')).body.paused, undefined);
    assert.equal((await claim()).tasks.length, 1);
    await settled(parley);
    const { events } = (await parley.admin.call('GET', '/v1/events?limit=500')).body;
    const types = events.map(({ type }: { type: string }) => type).filter((type: string) => type.startsWith('agent.'));
    assert.deepEqual(types, ['agent.paused', 'agent.resumed']);
  });

  it('resumes by itself when its pause is over', async (t) => {
    const { parley, requester, control, claim } = await start(t);
    await control('pause', { seconds: 60 });
    await requester.request();
    parley.clock.advance(59_999);
    assert.deepEqual((await claim()).tasks, []);
    parley.clock.advance(1);
    assert.equal((await claim()).tasks.length, 1);
  });

  it('is told at once that it drains, also where it waits, and finishes what it holds', async (t) => {
    const { parley, requester, worker, control, claim } = await start(t);
    const held = await requester.request();
    assert.equal((await claim()).tasks.length, 1);
    const activity = async () => (await parley.admin.call('GET', '/v1/agents/worker')).body.activity.held;
    assert.deepEqual(await activity(), { value: 1, isExact: true });
    assert.equal((await control('drain')).status, 200);
    await requester.request();
    const { tasks, paused } = await claim({ wait: 20 });
    assert.deepEqual([tasks, paused.action], [[], 'drain']);
    assert.equal((await worker.complete(held)).status, 202);
    assert.deepEqual(await activity(), { value: 0, isExact: true });
    await control('resume');
    assert.equal((await claim()).tasks.length, 1);
  });

  it('is leased no new turn while it is paused or drains, and is leased the one that it has', async (t) => {
    const parley = await testParley(t);
    const [coordinator, executor] = [await groundAgent(parley, 'coordinator'), await groundAgent(parley, 'executor')];
    const worker = new Worker(executor);
    await parley.admin.call('POST', '/v1/agents/executor/drain');
    await enqueued(coordinator, 'executor');
    const { status } = await executor.call('POST', '/v1/turns/lease', { agent_id: 'executor', wait: 20 });
    assert.equal(status, 204);
    await parley.admin.call('POST', '/v1/agents/executor/pause');
    assert.equal(await worker.lease(), undefined);
    await parley.admin.call('POST', '/v1/agents/executor/resume');
    assert.ok(await worker.lease());
  });

  it('pauses itself, and cannot end or replace the pause of an operator', async (t) => {
    const { parley, worker, control, claim } = await start(t);
    const other = await parley.agent('other', {});
    assertRefused(await other.call('POST', '/v1/agents/worker/pause'), 403, 'forbidden');
    assert.equal((await worker.call('POST', '/v1/agents/worker/drain')).body.paused.by, 'worker');
    assert.equal((await worker.call('POST', '/v1/agents/worker/resume')).status, 200);
    await control('pause');
    for (const action of ['resume', 'pause', 'drain'])
      assertRefused(await worker.call('POST', `/v1/agents/worker/${action}`), 403, 'forbidden');
    assert.equal((await claim()).paused.by, 'admin');
    assertRefused(await parley.admin.call('POST', '/v1/agents/nobody/pause'), 404, 'agent_not_found');
  });
});

describe('what is known of an agent', () => {
  it('is when it was last seen, from any call and with a write a minute, but not from one with a key that only reads', async (t) => {
    let writes = 0;
    const parley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          update: (ref, ...more) => {
            if (ref.sk === 'health') writes += 1;
            return ports.records.update(ref, ...more);
          },
        },
      }),
    });
    const worker = await registered(parley.transport, parley.admin, 'worker');
    const { body } = await parley.admin.call('POST', '/v1/keys', { name: 'eye', agent: 'worker', scope: 'read' });
    const lastSeen = async () => (await parley.admin.call('GET', '/v1/agents/worker')).body.health.lastSeen;
    await callerWith(parley.transport, body.key).call('GET', '/v1/tasks');
    assert.equal(await lastSeen(), undefined);
    for (let n = 0; n < 20; n++) await worker.call('GET', '/v1/tasks');
    const first = await lastSeen();
    assert.equal(first, new Date(parley.clock.now()).toISOString());
    assert.equal(writes, 1);
    parley.clock.advance(59_999);
    await worker.claim();
    assert.equal(await lastSeen(), first);
    parley.clock.advance(1);
    await worker.claim();
    assert.equal(await lastSeen(), new Date(parley.clock.now()).toISOString());
    assert.equal(writes, 2);
  });

  it('are its live instances, the tasks that it holds and its inbox, for operators and itself alone', async (t) => {
    const { parley, requester, worker } = await start(t);
    for (let n = 0; n < 3; n++) await requester.request();
    await worker.claim({ max: 2, instance: 'one' });
    const done = (await parley.admin.call('GET', '/v1/tasks?status=claimed')).body.tasks[0].id;
    await worker.complete(done);
    await eventually(async () => assert.equal((await requester.inbox()).length, 1));
    const read = async (id: string, as: { call: typeof worker.call } | typeof parley.admin = parley.admin) =>
      (await as.call('GET', `/v1/agents/${id}`)).body.activity;
    const { instances, held, inbox } = await read('worker');
    assert.deepEqual(
      [instances.map(({ id }: { id: string }) => id), held, inbox],
      [['one'], { value: 1, isExact: true }, { value: 0, isExact: true }],
    );
    assert.deepEqual((await read('requester', requester)).inbox, { value: 1, isExact: true });
    assert.equal(await read('worker', requester), undefined);
    parley.clock.advance(parley.parley.deps.config.agents.instanceMs);
    assert.deepEqual((await read('worker')).instances, []);
  });
});

describe('GET /v1/capabilities', () => {
  it('lists what agents can do by name, with their agents and schemas, page by page', async (t) => {
    const parley = await testParley(t);
    const input = { type: 'object', properties: { topic: { type: 'string' } } };
    await parley.agent('a', { capabilities: ['security.scan', 'research'], schemas: { research: { input } } });
    const b = await parley.agent('b', { capabilities: ['research'], domains: ['home'] });
    const list = async (query = '') => (await b.call('GET', `/v1/capabilities${query}`)).body;
    const { capabilities, isComplete } = await list();
    const names = capabilities.map((one: { name: string; providers: { agent: string }[] }) => [
      one.name,
      one.providers.map(({ agent }) => agent),
    ]);
    assert.deepEqual(names, [
      ['home.*', ['b']],
      ['research', ['a', 'b']],
      ['security.scan', ['a']],
    ]);
    assert.equal(isComplete, true);
    assert.deepEqual(capabilities[1].providers[0].input, input);
    const first = await list('?limit=2');
    assert.deepEqual([first.capabilities.length, first.cursor], [2, 'research']);
    assert.deepEqual((await list(`?limit=2&cursor=${first.cursor}`)).capabilities[0].name, 'security.scan');
    assert.equal((await list('?domain=security')).capabilities.length, 1);
    assert.equal((await list('?agent=b')).capabilities.length, 2);
    assert.deepEqual((await list('?capability=nothing')).capabilities, []);
  });
});
