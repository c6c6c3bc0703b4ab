import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { domainProvidersRef } from '../../shared/identity/agents/domain-providers.ts';
import { taskRef } from '../../shared/model/task.ts';
import { assertRefused } from '../http/refusal.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

const SCAN = { payload: { task: 'security.scan' } };
const exact = (...capabilities: string[]) => ({ capabilities });

const claimedIds = async (agent: TestAgent, options: object = {}): Promise<string[]> =>
  (await agent.claim(options)).map(({ message }) => message.id);

describe('an agent that declares capabilities', () => {
  it('is handed those alone of its domain, and the others’ tasks stay for the others', async (t) => {
    const { agent } = await testParley(t);
    const [tim, briefer] = [await agent('tim', exact()), await agent('briefer', exact('security.briefing'))];
    const scanner = await agent('scanner', exact('security.scan'));
    const [scan, briefing] = [await tim.request(SCAN), await tim.request()];
    assert.deepEqual(await claimedIds(briefer, { max: 10 }), [briefing]);
    assert.deepEqual(await claimedIds(scanner, { max: 10 }), [scan]);
  });

  for (const [what, registration] of [
    ['the domain', { domains: ['security'] }],
    ['security.*', exact('security.*')],
  ] as const) {
    it(`beside one that declares ${what}, which is handed everything of it in the order of arrival`, async (t) => {
      const { agent } = await testParley(t);
      const [tim, scanner] = [await agent('tim', exact()), await agent('scanner', exact('security.scan'))];
      const whole = await agent('whole', registration);
      const ids = [await tim.request(SCAN), await tim.request(), await tim.request(SCAN), await tim.request()];
      assert.deepEqual(await claimedIds(whole, { max: 3 }), ids.slice(0, 3));
      assert.deepEqual(await claimedIds(scanner, { max: 10 }), []);
      assert.deepEqual(await claimedIds(whole, { max: 10 }), ids.slice(3));
    });
  }

  it('wakes from its wait for a task of its own capability only, and so does one that serves the domain', async (t) => {
    const { agent } = await testParley(t);
    const [tim, scanner] = [await agent('tim', exact()), await agent('scanner', exact('security.scan'))];
    const waiting = claimedIds(scanner, { wait: 20 });
    await tim.request();
    const scan = await tim.request(SCAN);
    assert.deepEqual(await waiting, [scan]);
    const whole = await agent('whole', { domains: ['security'] });
    await claimedIds(whole, { max: 10 });
    const heard = claimedIds(whole, { wait: 20 });
    const second = await tim.request(SCAN);
    assert.deepEqual(await heard, [second]);
  });

  it('cannot claim a task of another capability by message, and does not see it', async (t) => {
    const { agent } = await testParley(t);
    const [tim, briefer] = [await agent('tim', exact()), await agent('briefer', exact('security.briefing'))];
    await agent('scanner', exact('security.scan'));
    const scan = await tim.request(SCAN);
    assertRefused(await briefer.claimed(scan), 403, 'not_eligible');
    assertRefused(await briefer.complete(scan), 403, 'not_eligible');
    assertRefused(await briefer.call('GET', `/v1/tasks/${scan}`), 404, 'task_not_found');
  });

  it('chooses all of a domain that it serves with a claim', async (t) => {
    const { agent } = await testParley(t);
    const [tim, kay] = [await agent('tim', exact()), await agent('kay', exact('security.*', 'comms.*'))];
    const id = await tim.request(SCAN);
    assert.deepEqual(await claimedIds(kay, { capabilities: ['comms.*'] }), []);
    assert.deepEqual(await claimedIds(kay, { capabilities: ['security.*'] }), [id]);
    assertRefused(await kay.call('POST', '/v1/claims', { capabilities: ['intel.*'] }), 403, 'not_eligible');
  });

  it('chooses among them with a claim', async (t) => {
    const { agent } = await testParley(t);
    const [tim, kay] = [await agent('tim', exact()), await agent('kay', exact('security.scan', 'security.briefing'))];
    const [briefing, scan] = [await tim.request(), await tim.request(SCAN)];
    const direct = await tim.request({ to: 'kay' });
    assert.deepEqual(await claimedIds(kay, { max: 10, capabilities: ['security.scan'] }), [direct, scan]);
    assertRefused(await kay.call('POST', '/v1/claims', { capabilities: ['security.other'] }), 403, 'not_eligible');
    assert.deepEqual(await claimedIds(kay, { domains: ['security'] }), [briefing]);
  });
});

describe('a capability that nobody declares', () => {
  it('is accepted with a notice, and expires by its time to live', async (t) => {
    const { agent, clock } = await testParley(t);
    const tim = await agent('tim', exact());
    const briefer = await agent('briefer', exact('security.briefing'));
    const request = { ...SCAN, id: randomUUID() };
    const message = { version: '1.0', type: 'task.request', from: 'tim', timestamp: '2026-02-08T15:00:00Z', ttl: 60 };
    const reply = await tim.send({ ...message, ...request, payload: { ...SCAN.payload, params: {} } });
    assert.equal(reply.status, 202);
    assert.match(reply.body.notices[0], /security\.scan.*2026-03-01T12:01:00/);
    assert.deepEqual(await claimedIds(briefer), []);
    clock.advance(60_000);
    await eventually(async () => assert.equal((await tim.task(request.id)).state, 'expired'));
  });

  it('is accepted with the same notice by each call that takes requests, and none where somebody declares it', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim', { dialect: 'task-format', capabilities: [] });
    await agent('briefer', exact('security.briefing'));
    const asked = (type: string) => ({ id: randomUUID(), type, payload: {} });
    const [scan, briefing] = ['security.scan', 'security.briefing'] as const;
    const said = /^No registered agent declares security\.scan.*waits for one until 2026-/;
    const task = await tim.call('POST', '/v1/tasks', asked(scan));
    assert.equal(task.status, 202);
    assert.match(task.body.notices[0], said);
    assert.equal((await tim.call('POST', '/v1/tasks', asked(briefing))).body.notices, undefined);

    const batch = { tasks: [scan, briefing, scan].map(asked) };
    const { status, body } = await tim.call('POST', '/v1/batches', batch);
    assert.equal(status, 202);
    assert.deepEqual(
      body.notices.map((notice: string) => notice.split(': ')[0]),
      ['tasks[0]', 'tasks[2]'],
    );
    assert.match(body.notices[0].slice('tasks[0]: '.length), said);
    assert.equal((await tim.call('POST', '/v1/batches', { tasks: [asked(briefing)] })).body.notices, undefined);

    const node = (capability: string, dependencies: string[] = []) => ({
      taskId: randomUUID(),
      capability,
      dependencies,
      payload: {},
    });
    const first = node(briefing);
    const graph = {
      graphId: randomUUID(),
      conversationId: 'c',
      nodes: [node(scan, [first.taskId]), first, node(scan)],
    };
    const made = await tim.call('POST', '/v1/graphs', graph);
    assert.equal(made.status, 202, JSON.stringify(made.body));
    assert.deepEqual(
      made.body.notices.map((notice: string) => notice.split(': ')[0]),
      ['nodes[0]', 'nodes[2]'],
    );
    assert.match(made.body.notices[1].slice('nodes[2]: '.length), said);
  });

  it('comes to whoever declares it while it waits, within seconds', async (t) => {
    const { agent, clock } = await testParley(t);
    const tim = await agent('tim', exact());
    const ids = [await tim.request(SCAN), await tim.request(SCAN)];
    const scanner = await agent('scanner', exact('security.scan'));
    clock.advance(6000);
    const claimed: string[] = [];
    await eventually(async () => {
      claimed.push(...(await claimedIds(scanner, { max: 10 })));
      assert.deepEqual(claimed.toSorted(), ids.toSorted());
    });
  });

  it('comes to whoever declares the domain while it waits, at once', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim', exact());
    const id = await tim.request(SCAN);
    assert.deepEqual(await claimedIds(await agent('whole', { domains: ['security'] })), [id]);
  });

  it('is found by one who declares it, though it waited for those of the whole domain, when its timer looks at it', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const [tim] = [await agent('tim', exact()), await agent('whole', { domains: ['security'] })];
    const id = await tim.request(SCAN);
    const scanner = await agent('scanner', exact('security.scan'));
    await admin.call('DELETE', '/v1/agents/whole');
    clock.advance(300_000);
    await eventually(async () => assert.deepEqual(await claimedIds(scanner), [id]));
  });

  for (const [what, isGone] of [
    ['gone', true],
    ['idle', false],
  ] as const) {
    it(`comes to whoever declares it at half of its time to live, when those of the whole domain are ${what}`, async (t) => {
      const { agent, admin, clock } = await testParley(t);
      const [tim] = [await agent('tim', exact()), await agent('whole', { domains: ['security'] })];
      const id = await tim.request({ ...SCAN, ttl: 20 });
      if (isGone) await admin.call('DELETE', '/v1/agents/whole');
      const scanner = await agent('scanner', exact('security.scan'));
      clock.advance(10_000);
      await eventually(async () => assert.deepEqual(await claimedIds(scanner), [id]));
    });

    it(`comes to whoever declares it at half of what is left of its time to live, when those of the whole domain are ${what}`, async (t) => {
      const { agent, admin, clock, parley } = await testParley(t);
      const [tim] = [await agent('tim', exact()), await agent('whole', { domains: ['security'] })];
      const id = await tim.request({ ...SCAN, ttl: 3600 });
      const start = clock.now();
      const isDueAfter = (minutes: number) =>
        eventually(async () => {
          const task = await parley.deps.records.get(taskRef('default', id));
          assert.equal(task?.due, start + minutes * 60_000);
        });
      for (const minutes of [5, 10, 20, 30, 40, 50]) {
        await isDueAfter(minutes);
        clock.advance(start + minutes * 60_000 - clock.now());
      }
      await isDueAfter(55);
      if (isGone) await admin.call('DELETE', '/v1/agents/whole');
      const scanner = await agent('scanner', exact('security.scan'));
      clock.advance(300_000);
      await eventually(async () => assert.deepEqual(await claimedIds(scanner), [id]));
    });
  }

  it('expires at the end of its time to live where nobody comes, though it was looked at ever more often', async (t) => {
    const { agent, clock, parley } = await testParley(t);
    const [tim] = [await agent('tim', exact()), await agent('whole', { domains: ['security'] })];
    const id = await tim.request({ ...SCAN, ttl: 20 });
    const start = clock.now();
    for (const seconds of [10, 15, 20]) {
      await eventually(async () => {
        const task = await parley.deps.records.get(taskRef('default', id));
        assert.equal(task?.due, start + seconds * 1000);
      });
      clock.advance(5000 * (seconds === 10 ? 2 : 1));
    }
    await eventually(async () => assert.equal((await tim.task(id)).state, 'expired'));
  });

  it('is left to those of the whole domain when the last who declares it is gone', async (t) => {
    const { agent, admin } = await testParley(t);
    const [tim, whole] = [await agent('tim', exact()), await agent('whole', { domains: ['security'] })];
    await agent('scanner', exact('security.scan'));
    const before = await tim.request(SCAN);
    await admin.call('DELETE', '/v1/agents/scanner');
    const after = await tim.request(SCAN);
    assert.deepEqual(await claimedIds(whole, { max: 10 }), [before, after]);
  });
});

describe('agents that were registered before their capabilities counted', () => {
  it('are counted when the first task of their domain comes, and are handed it within seconds', async (t) => {
    const { agent, clock, parley } = await testParley(t);
    const [tim, scanner] = [await agent('tim', exact()), await agent('scanner', exact('security.scan'))];
    await parley.deps.records.delete(domainProvidersRef('default', 'security'));
    parley.deps.directory.invalidateDomain('default', 'security');
    const id = await tim.request(SCAN);
    await eventually(async () => {
      clock.advance(1000);
      assert.deepEqual(await claimedIds(scanner), [id]);
    });
    assert.deepEqual(await claimedIds(scanner), []);
    const second = await tim.request(SCAN);
    assert.deepEqual(await claimedIds(scanner), [second]);
  });
});

describe('skill_missing', () => {
  const unable = { error: 'skill_missing', message: 'not mine', retryable: true };

  it('gives the task to another that can, spends no attempt, and it never comes back to who said it', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim', exact());
    const [kay, bors] = [await agent('kay', exact('security.scan')), await agent('bors', { domains: ['security'] })];
    const id = await tim.request(SCAN);
    assert.deepEqual(await claimedIds(kay), [id]);
    assert.equal((await kay.fail(id, unable)).status, 202);
    assert.deepEqual(await claimedIds(kay), []);
    assertRefused(await kay.claimed(id), 403, 'not_eligible');
    assert.deepEqual(await claimedIds(bors), [id]);
    for (const attempts of [1, 2]) {
      assert.equal((await bors.fail(id, { error: 'rate_limited', retryAfterSeconds: 0 })).status, 202);
      assert.equal((await tim.task(id)).state, 'requested', `after ${attempts}`);
      await eventually(async () => assert.deepEqual(await claimedIds(bors), [id]));
    }
    await bors.fail(id, { error: 'rate_limited', retryAfterSeconds: 0 });
    assert.equal((await tim.task(id)).state, 'failed');
  });

  it('is final as soon as nobody is left that can', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim', exact());
    const [kay, bors] = [await agent('kay', { domains: ['security'] }), await agent('bors', { domains: ['security'] })];
    const id = await tim.request(SCAN);
    for (const each of [kay, bors]) {
      assert.deepEqual(await claimedIds(each), [id]);
      assert.equal((await each.fail(id, unable)).status, 202);
    }
    const { state, error } = await tim.task(id);
    assert.deepEqual([state, error.code], ['failed', 'skill_missing']);
    assert.equal((await tim.inbox())[0].correlationId, id);
  });

  it('counts only who is still registered for it', async (t) => {
    const { agent, admin } = await testParley(t);
    const tim = await agent('tim', exact());
    const [kay, bors] = [await agent('kay', exact('security.scan')), await agent('bors', exact('security.scan'))];
    const id = await tim.request(SCAN);
    await claimedIds(kay);
    await kay.fail(id, unable);
    await admin.call('DELETE', '/v1/agents/kay');
    const lucan = await agent('lucan', exact('security.scan'));
    assert.deepEqual(await claimedIds(bors), [id]);
    await bors.fail(id, unable);
    assert.deepEqual(await claimedIds(lucan), [id]);
  });

  it('is CAPABILITY_NOT_FOUND in the task format, for capabilities of no domain too', async (t) => {
    const { agent } = await testParley(t);
    const format = { dialect: 'task-format', capabilities: ['parse'] };
    const tim = await agent('tim', { dialect: 'task-format', capabilities: [] });
    const [kay, bors] = [await agent('kay', format), await agent('bors', format)];
    const id = randomUUID();
    assert.equal(
      (await tim.send({ id, type: 'parse', payload: {}, context: {}, routing: {}, observability: {} })).status,
      202,
    );
    assert.deepEqual(await claimedIds(kay), [id]);
    const error = { code: 'CAPABILITY_NOT_FOUND', message: 'no' };
    assert.equal((await kay.send({ id, status: 'failed', error, metadata: { agent: 'kay' } })).status, 202);
    assert.deepEqual(await claimedIds(kay), []);
    assert.deepEqual(await claimedIds(bors), [id]);
    assert.equal((await bors.send({ id, status: 'failed', error, metadata: { agent: 'bors' } })).status, 202);
    assert.equal((await tim.task(id)).state, 'failed');
  });

  it('is not final where those of the domain are yet to be counted', async (t) => {
    const { agent, parley } = await testParley(t);
    const tim = await agent('tim', exact());
    const [kay, bors] = [await agent('kay', exact('security.scan')), await agent('bors', { domains: ['security'] })];
    const id = await tim.request(SCAN);
    assert.deepEqual(await claimedIds(kay), [id]);
    await parley.deps.records.delete(domainProvidersRef('default', 'security'));
    parley.deps.directory.invalidateDomain('default', 'security');
    assert.equal((await kay.fail(id, unable)).status, 202);
    assert.deepEqual(await claimedIds(bors), [id]);
  });

  for (const [where, first, other] of [
    ['on NATS', { transport: 'nats' }, {}],
    ['over HTTP', {}, { transport: 'nats' }],
  ] as const) {
    it(`is final where the task is given ${where} alone, and nobody else can be reached there`, async (t) => {
      const { agent } = await testParley(t);
      const tim = await agent('tim', { dialect: 'task-format', capabilities: [] });
      const kay = await agent('kay', { ...exact('search'), ...first });
      const id = randomUUID();
      const request = { id, type: 'search', payload: {}, context: {}, routing: {}, observability: {} };
      assert.equal((await tim.send(request)).status, 202);
      await agent('bors', { ...exact('search'), ...other });
      assert.equal((await kay.fail(id, unable)).status, 202);
      assert.equal((await tim.task(id)).state, 'failed');
    });
  }

  it('of an agent that was named is final', async (t) => {
    const { agent } = await testParley(t);
    const [tim, kay] = [await agent('tim', exact()), await agent('kay', { domains: ['security'] })];
    await agent('bors', { domains: ['security'] });
    const id = await tim.request({ ...SCAN, to: 'kay' });
    await claimedIds(kay);
    await kay.fail(id, unable);
    assert.equal((await tim.task(id)).state, 'failed');
  });
});
