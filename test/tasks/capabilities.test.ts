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

describe('claims by capability', () => {
  it('gives an agent only tasks of the capabilities that it declares', async (t) => {
    const { agent } = await testParley(t);
    const [requester, briefer] = [
      await agent('requester', exact()),
      await agent('briefer', exact('security.briefing')),
    ];
    const scanner = await agent('scanner', exact('security.scan'));
    const [scan, briefing] = [await requester.request(SCAN), await requester.request()];
    assert.deepEqual(await claimedIds(briefer, { max: 10 }), [briefing]);
    assert.deepEqual(await claimedIds(scanner, { max: 10 }), [scan]);
  });

  for (const [what, registration] of [
    ['the domain', { domains: ['security'] }],
    ['security.*', exact('security.*')],
  ] as const) {
    it(`gives a provider of ${what} every task of the domain in order of arrival`, async (t) => {
      const { agent } = await testParley(t);
      const [requester, scanner] = [await agent('requester', exact()), await agent('scanner', exact('security.scan'))];
      const whole = await agent('whole', registration);
      const ids = [
        await requester.request(SCAN),
        await requester.request(),
        await requester.request(SCAN),
        await requester.request(),
      ];
      assert.deepEqual(await claimedIds(whole, { max: 3 }), ids.slice(0, 3));
      assert.deepEqual(await claimedIds(scanner, { max: 10 }), []);
      assert.deepEqual(await claimedIds(whole, { max: 10 }), ids.slice(3));
    });
  }

  it('wakes a waiting claim only for tasks of its capabilities', async (t) => {
    const { agent } = await testParley(t);
    const [requester, scanner] = [await agent('requester', exact()), await agent('scanner', exact('security.scan'))];
    const waiting = claimedIds(scanner, { wait: 20 });
    await requester.request();
    const scan = await requester.request(SCAN);
    assert.deepEqual(await waiting, [scan]);
    const whole = await agent('whole', { domains: ['security'] });
    await claimedIds(whole, { max: 10 });
    const heard = claimedIds(whole, { wait: 20 });
    const second = await requester.request(SCAN);
    assert.deepEqual(await heard, [second]);
  });

  it('rejects a claim message for a capability that the agent does not declare', async (t) => {
    const { agent } = await testParley(t);
    const [requester, briefer] = [
      await agent('requester', exact()),
      await agent('briefer', exact('security.briefing')),
    ];
    await agent('scanner', exact('security.scan'));
    const scan = await requester.request(SCAN);
    assertRefused(await briefer.claimed(scan), 403, 'not_eligible');
    assertRefused(await briefer.complete(scan), 403, 'not_eligible');
    assertRefused(await briefer.call('GET', `/v1/tasks/${scan}`), 404, 'task_not_found');
  });

  it('restricts a claim to the domain that it names', async (t) => {
    const { agent } = await testParley(t);
    const [requester, worker] = [
      await agent('requester', exact()),
      await agent('worker', exact('security.*', 'comms.*')),
    ];
    const id = await requester.request(SCAN);
    assert.deepEqual(await claimedIds(worker, { capabilities: ['comms.*'] }), []);
    assert.deepEqual(await claimedIds(worker, { capabilities: ['security.*'] }), [id]);
    assertRefused(await worker.call('POST', '/v1/claims', { capabilities: ['intel.*'] }), 403, 'not_eligible');
  });

  it('restricts a claim to the capabilities that it names', async (t) => {
    const { agent } = await testParley(t);
    const [requester, worker] = [
      await agent('requester', exact()),
      await agent('worker', exact('security.scan', 'security.briefing')),
    ];
    const [briefing, scan] = [await requester.request(), await requester.request(SCAN)];
    const direct = await requester.request({ to: 'worker' });
    assert.deepEqual(await claimedIds(worker, { max: 10, capabilities: ['security.scan'] }), [direct, scan]);
    assertRefused(await worker.call('POST', '/v1/claims', { capabilities: ['security.other'] }), 403, 'not_eligible');
    assert.deepEqual(await claimedIds(worker, { domains: ['security'] }), [briefing]);
  });
});

describe('capability without a provider', () => {
  it('accepts a task that no agent can do with a notice and expires it after its time to live', async (t) => {
    const { agent, clock } = await testParley(t);
    const requester = await agent('requester', exact());
    const briefer = await agent('briefer', exact('security.briefing'));
    const request = { ...SCAN, id: randomUUID() };
    const message = {
      version: '1.0',
      type: 'task.request',
      from: 'requester',
      timestamp: '2026-02-08T15:00:00Z',
      ttl: 60,
    };
    const reply = await requester.send({ ...message, ...request, payload: { ...SCAN.payload, params: {} } });
    assert.equal(reply.status, 202);
    assert.match(reply.body.notices[0], /security\.scan.*2026-03-01T12:01:00/);
    assert.deepEqual(await claimedIds(briefer), []);
    clock.advance(60_000);
    await eventually(async () => assert.equal((await requester.task(request.id)).state, 'expired'));
  });

  it('returns the notice from every call that accepts requests, and none when a provider exists', async (t) => {
    const { agent } = await testParley(t);
    const requester = await agent('requester', { dialect: 'task-format', capabilities: [] });
    await agent('briefer', exact('security.briefing'));
    const asked = (type: string) => ({ id: randomUUID(), type, payload: {} });
    const [scan, briefing] = ['security.scan', 'security.briefing'] as const;
    const said = /^No registered agent declares security\.scan.*waits for one until 2026-/;
    const task = await requester.call('POST', '/v1/tasks', asked(scan));
    assert.equal(task.status, 202);
    assert.match(task.body.notices[0], said);
    assert.equal((await requester.call('POST', '/v1/tasks', asked(briefing))).body.notices, undefined);

    const batch = { tasks: [scan, briefing, scan].map(asked) };
    const { status, body } = await requester.call('POST', '/v1/batches', batch);
    assert.equal(status, 202);
    assert.deepEqual(
      body.notices.map((notice: string) => notice.split(': ')[0]),
      ['tasks[0]', 'tasks[2]'],
    );
    assert.match(body.notices[0].slice('tasks[0]: '.length), said);
    assert.equal((await requester.call('POST', '/v1/batches', { tasks: [asked(briefing)] })).body.notices, undefined);

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
    const made = await requester.call('POST', '/v1/graphs', graph);
    assert.equal(made.status, 202, JSON.stringify(made.body));
    assert.deepEqual(
      made.body.notices.map((notice: string) => notice.split(': ')[0]),
      ['nodes[0]', 'nodes[2]'],
    );
    assert.match(made.body.notices[1].slice('nodes[2]: '.length), said);
  });

  it('gives a waiting task to a provider of its capability that registers later, within seconds', async (t) => {
    const { agent, clock } = await testParley(t);
    const requester = await agent('requester', exact());
    const ids = [await requester.request(SCAN), await requester.request(SCAN)];
    const scanner = await agent('scanner', exact('security.scan'));
    clock.advance(6000);
    const claimed: string[] = [];
    await eventually(async () => {
      claimed.push(...(await claimedIds(scanner, { max: 10 })));
      assert.deepEqual(claimed.toSorted(), ids.toSorted());
    });
  });

  it('gives a waiting task to a provider of its domain that registers later, at once', async (t) => {
    const { agent } = await testParley(t);
    const requester = await agent('requester', exact());
    const id = await requester.request(SCAN);
    assert.deepEqual(await claimedIds(await agent('whole', { domains: ['security'] })), [id]);
  });

  it('gives a task of a removed domain provider to a provider of its capability when its timer fires', async (t) => {
    const { agent, admin, clock } = await testParley(t);
    const [requester] = [await agent('requester', exact()), await agent('whole', { domains: ['security'] })];
    const id = await requester.request(SCAN);
    const scanner = await agent('scanner', exact('security.scan'));
    await admin.call('DELETE', '/v1/agents/whole');
    clock.advance(300_000);
    await eventually(async () => assert.deepEqual(await claimedIds(scanner), [id]));
  });

  for (const [what, isGone] of [
    ['gone', true],
    ['idle', false],
  ] as const) {
    it(`gives a task to a provider of its capability after half of its time to live when the domain providers are ${what}`, async (t) => {
      const { agent, admin, clock } = await testParley(t);
      const [requester] = [await agent('requester', exact()), await agent('whole', { domains: ['security'] })];
      const id = await requester.request({ ...SCAN, ttl: 20 });
      if (isGone) await admin.call('DELETE', '/v1/agents/whole');
      const scanner = await agent('scanner', exact('security.scan'));
      clock.advance(10_000);
      await eventually(async () => assert.deepEqual(await claimedIds(scanner), [id]));
    });

    it(`gives a task to a provider of its capability after half of its remaining time to live when the domain providers are ${what}`, async (t) => {
      const { agent, admin, clock, parley } = await testParley(t);
      const [requester] = [await agent('requester', exact()), await agent('whole', { domains: ['security'] })];
      const id = await requester.request({ ...SCAN, ttl: 3600 });
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

  it('expires a task at the end of its time to live although its timer fires more and more often', async (t) => {
    const { agent, clock, parley } = await testParley(t);
    const [requester] = [await agent('requester', exact()), await agent('whole', { domains: ['security'] })];
    const id = await requester.request({ ...SCAN, ttl: 20 });
    const start = clock.now();
    for (const seconds of [10, 15, 20]) {
      await eventually(async () => {
        const task = await parley.deps.records.get(taskRef('default', id));
        assert.equal(task?.due, start + seconds * 1000);
      });
      clock.advance(5000 * (seconds === 10 ? 2 : 1));
    }
    await eventually(async () => assert.equal((await requester.task(id)).state, 'expired'));
  });

  it('gives tasks to the domain providers after the last provider of the capability is removed', async (t) => {
    const { agent, admin } = await testParley(t);
    const [requester, whole] = [await agent('requester', exact()), await agent('whole', { domains: ['security'] })];
    await agent('scanner', exact('security.scan'));
    const before = await requester.request(SCAN);
    await admin.call('DELETE', '/v1/agents/scanner');
    const after = await requester.request(SCAN);
    assert.deepEqual(await claimedIds(whole, { max: 10 }), [before, after]);
  });
});

describe('domain without a provider record', () => {
  it('builds the provider record with the first task of a domain and gives the task to a provider within seconds', async (t) => {
    const { agent, clock, parley } = await testParley(t);
    const [requester, scanner] = [await agent('requester', exact()), await agent('scanner', exact('security.scan'))];
    await parley.deps.records.delete(domainProvidersRef('default', 'security'));
    parley.deps.directory.invalidateDomain('default', 'security');
    const id = await requester.request(SCAN);
    await eventually(async () => {
      clock.advance(1000);
      assert.deepEqual(await claimedIds(scanner), [id]);
    });
    assert.deepEqual(await claimedIds(scanner), []);
    const second = await requester.request(SCAN);
    assert.deepEqual(await claimedIds(scanner), [second]);
  });
});

describe('declined task', () => {
  const unable = { error: 'skill_missing', message: 'not mine', retryable: true };

  it('gives a declined task to another provider, spends no attempt and never returns it to the agent that declined', async (t) => {
    const { agent } = await testParley(t);
    const requester = await agent('requester', exact());
    const [worker, otherWorker] = [
      await agent('worker', exact('security.scan')),
      await agent('other-worker', { domains: ['security'] }),
    ];
    const id = await requester.request(SCAN);
    assert.deepEqual(await claimedIds(worker), [id]);
    assert.equal((await worker.fail(id, unable)).status, 202);
    assert.deepEqual(await claimedIds(worker), []);
    assertRefused(await worker.claimed(id), 403, 'not_eligible');
    assert.deepEqual(await claimedIds(otherWorker), [id]);
    for (const attempts of [1, 2]) {
      assert.equal((await otherWorker.fail(id, { error: 'rate_limited', retryAfterSeconds: 0 })).status, 202);
      assert.equal((await requester.task(id)).state, 'requested', `after ${attempts}`);
      await eventually(async () => assert.deepEqual(await claimedIds(otherWorker), [id]));
    }
    await otherWorker.fail(id, { error: 'rate_limited', retryAfterSeconds: 0 });
    assert.equal((await requester.task(id)).state, 'failed');
  });

  it('fails a task with skill_missing when every provider has declined it', async (t) => {
    const { agent } = await testParley(t);
    const requester = await agent('requester', exact());
    const [worker, otherWorker] = [
      await agent('worker', { domains: ['security'] }),
      await agent('other-worker', { domains: ['security'] }),
    ];
    const id = await requester.request(SCAN);
    for (const each of [worker, otherWorker]) {
      assert.deepEqual(await claimedIds(each), [id]);
      assert.equal((await each.fail(id, unable)).status, 202);
    }
    const { state, error } = await requester.task(id);
    assert.deepEqual([state, error.code], ['failed', 'skill_missing']);
    assert.equal((await requester.inbox())[0].correlationId, id);
  });

  it('ignores removed agents when it looks for a provider that has not declined', async (t) => {
    const { agent, admin } = await testParley(t);
    const requester = await agent('requester', exact());
    const [worker, otherWorker] = [
      await agent('worker', exact('security.scan')),
      await agent('other-worker', exact('security.scan')),
    ];
    const id = await requester.request(SCAN);
    await claimedIds(worker);
    await worker.fail(id, unable);
    await admin.call('DELETE', '/v1/agents/worker');
    const newWorker = await agent('new-worker', exact('security.scan'));
    assert.deepEqual(await claimedIds(otherWorker), [id]);
    await otherWorker.fail(id, unable);
    assert.deepEqual(await claimedIds(newWorker), [id]);
  });

  it('treats CAPABILITY_NOT_FOUND of Task Format as declined, also for capabilities without a domain', async (t) => {
    const { agent } = await testParley(t);
    const format = { dialect: 'task-format', capabilities: ['parse'] };
    const requester = await agent('requester', { dialect: 'task-format', capabilities: [] });
    const [worker, otherWorker] = [await agent('worker', format), await agent('other-worker', format)];
    const id = randomUUID();
    assert.equal(
      (await requester.send({ id, type: 'parse', payload: {}, context: {}, routing: {}, observability: {} })).status,
      202,
    );
    assert.deepEqual(await claimedIds(worker), [id]);
    const error = { code: 'CAPABILITY_NOT_FOUND', message: 'no' };
    assert.equal((await worker.send({ id, status: 'failed', error, metadata: { agent: 'worker' } })).status, 202);
    assert.deepEqual(await claimedIds(worker), []);
    assert.deepEqual(await claimedIds(otherWorker), [id]);
    assert.equal(
      (await otherWorker.send({ id, status: 'failed', error, metadata: { agent: 'other-worker' } })).status,
      202,
    );
    assert.equal((await requester.task(id)).state, 'failed');
  });

  it('keeps a declined task open while the domain has no provider record', async (t) => {
    const { agent, parley } = await testParley(t);
    const requester = await agent('requester', exact());
    const [worker, otherWorker] = [
      await agent('worker', exact('security.scan')),
      await agent('other-worker', { domains: ['security'] }),
    ];
    const id = await requester.request(SCAN);
    assert.deepEqual(await claimedIds(worker), [id]);
    await parley.deps.records.delete(domainProvidersRef('default', 'security'));
    parley.deps.directory.invalidateDomain('default', 'security');
    assert.equal((await worker.fail(id, unable)).status, 202);
    assert.deepEqual(await claimedIds(otherWorker), [id]);
  });

  for (const [where, first, other] of [
    ['on NATS', { transport: 'nats' }, {}],
    ['over HTTP', {}, { transport: 'nats' }],
  ] as const) {
    it(`fails a declined task that is delivered ${where} when no other provider is reachable there`, async (t) => {
      const { agent } = await testParley(t);
      const requester = await agent('requester', { dialect: 'task-format', capabilities: [] });
      const worker = await agent('worker', { ...exact('search'), ...first });
      const id = randomUUID();
      const request = { id, type: 'search', payload: {}, context: {}, routing: {}, observability: {} };
      assert.equal((await requester.send(request)).status, 202);
      await agent('other-worker', { ...exact('search'), ...other });
      assert.equal((await worker.fail(id, unable)).status, 202);
      assert.equal((await requester.task(id)).state, 'failed');
    });
  }

  it('fails a task for one named agent when that agent declines it', async (t) => {
    const { agent } = await testParley(t);
    const [requester, worker] = [await agent('requester', exact()), await agent('worker', { domains: ['security'] })];
    await agent('other-worker', { domains: ['security'] });
    const id = await requester.request({ ...SCAN, to: 'worker' });
    await claimedIds(worker);
    await worker.fail(id, unable);
    assert.equal((await requester.task(id)).state, 'failed');
  });
});
