import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { assertRefused, settled } from '../http/refusal.ts';
import { agentOsAgent, content } from '../support/agent-os-agent.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { tfRequest } from '../support/task-format.ts';
import { type TestOptions, testParley } from '../support/test-parley.ts';

const OVEN = [{ key: 'oven', concurrency: 1 }];

const openKitchen = async (t: TestContext, options: TestOptions = {}) => {
  const parley = await testParley(t, options);
  const chef = await parley.agent('chef', { dialect: 'native' });
  const cook = await parley.agent('cook', { dialect: 'native', capabilities: ['soup', 'bread', 'home.dinner'] });
  const request = async (more: object = {}, by: TestAgent = chef): Promise<string> => {
    const id = randomUUID();
    const reply = await by.send({ kind: 'request', id, capability: 'soup', ...more });
    assert.equal(reply.status, 202, JSON.stringify(reply.body));
    return id;
  };
  const claim = async (max = 10): Promise<string[]> =>
    (await cook.claim({ max })).map(({ message }: { message: { id: string } }) => message.id);
  const claimSoon = (count: number): Promise<string[]> => {
    const claimed: string[] = [];
    return eventually(async () => {
      claimed.push(...(await claim()));
      assert.ok(claimed.length >= count, `claimed ${claimed.length} of ${count}`);
      return claimed;
    });
  };
  const finish = async (taskId: string): Promise<void> => {
    assert.equal((await cook.send({ kind: 'result', taskId, output: 1 })).status, 202);
  };
  return { parley, chef, cook, request, claim, claimSoon, finish };
};

describe('a task with limits', () => {
  it('shows for which limit it waits: in its view, in lists, in its queue and at the limit', async (t) => {
    const { parley, chef, request, claim, finish, claimSoon } = await openKitchen(t);
    const [one, two] = [await request({ limits: OVEN }), await request({ limits: OVEN })];
    assert.deepEqual(await claim(), [one]);
    const block = { key: 'oven', reason: 'concurrency', concurrency: 1, running: 1 };
    assert.partialDeepStrictEqual(await chef.task(two), { state: 'requested', waitsForLimit: block, limits: OVEN });
    assert.equal((await chef.task(one)).waitsForLimit, undefined);
    const { tasks } = (await chef.call('GET', '/v1/tasks?status=requested')).body;
    assert.deepEqual(tasks[0].waitsForLimit, block);
    const [queue] = (await parley.admin.call('GET', '/v1/queues?capability=soup')).body.queues;
    assert.deepEqual(queue.limits, [{ key: 'oven', reason: 'concurrency', waiting: 1 }]);
    assert.equal(queue.waiting.value, 0);
    const { limits } = (await parley.admin.call('GET', '/v1/limits')).body;
    assert.partialDeepStrictEqual(limits, [
      { key: 'oven', source: 'tasks', running: 1, holders: [{ taskId: one, agent: 'cook' }] },
    ]);
    assert.deepEqual(limits[0].waiting, { value: 1, isExact: true });
    await finish(one);
    assert.deepEqual(await claimSoon(1), [two]);
    assert.equal((await chef.task(two)).waitsForLimit, undefined);
  });

  it('is claimed by no message while there is no place', async (t) => {
    const { cook, request, claim, finish } = await openKitchen(t);
    const [one, two] = [await request({ limits: OVEN }), await request({ limits: OVEN })];
    assert.deepEqual(await claim(), [one]);
    assertRefused(await cook.send({ kind: 'claim', taskId: two }), 409, 'limit_reached');
    assertRefused(await cook.send({ kind: 'progress', taskId: two, percent: 10 }), 409, 'limit_reached');
    await finish(one);
    assert.equal((await cook.send({ kind: 'progress', taskId: two, percent: 10 })).status, 202);
    assert.equal((await cook.task(two)).state, 'in_progress');
  });

  it('waits for the key that has no place, and starts when all of its keys have one', async (t) => {
    const { request, claim, claimSoon, finish } = await openKitchen(t);
    const pan = [{ key: 'pan', concurrency: 1 }];
    const first = await request({ limits: pan });
    assert.deepEqual(await claim(), [first]);
    const both = await request({ limits: [...OVEN, ...pan] });
    const single = await request({ limits: OVEN });
    assert.deepEqual(await claim(), [single]);
    await finish(first);
    assert.deepEqual(await claim(), []);
    await finish(single);
    assert.deepEqual(await claimSoon(1), [both]);
  });

  it('waits in another place than its queue, which gives no more than others need', async (t) => {
    const { parley, request, claim, claimSoon, finish } = await openKitchen(t);
    const limited: string[] = [];
    for (let at = 0; at < 60; at++) {
      limited.push(await request({ limits: OVEN }));
      parley.clock.advance(1);
    }
    const free = await request({ capability: 'bread' });
    const claimed: string[] = [];
    for (let at = 0; at < 8; at++) claimed.push(...(await claim()));
    assert.deepEqual(claimed.toSorted(), [limited[0], free].toSorted());
    for (const id of limited) {
      await finish(id);
      const at = limited.indexOf(id);
      if (at < limited.length - 1) assert.deepEqual(await claimSoon(1), [limited[at + 1]]);
    }
    await settled(parley);
    assert.deepEqual(await claim(), []);
  });

  it('follows the next start of its rate, on its second', async (t) => {
    const { parley, chef, request, claim, claimSoon } = await openKitchen(t);
    const limits = [{ key: 'api', rate: { starts: 1, seconds: 60 } }];
    const [one, two] = [await request({ limits }), await request({ limits })];
    assert.deepEqual(await claim(), [one]);
    const { waitsForLimit } = await chef.task(two);
    const at = Date.parse(waitsForLimit.nextStartAt);
    assert.equal(waitsForLimit.reason, 'rate');
    assert.ok(at - parley.clock.now() > 59_000 && at - parley.clock.now() <= 63_000);
    parley.clock.advance(at - parley.clock.now() - 1);
    await settled(parley);
    assert.deepEqual(await claim(), []);
    parley.clock.advance(1);
    assert.deepEqual(await claimSoon(1), [two]);
  });

  it('keeps its place while it waits for an answer, and after a restart', async (t) => {
    const { parley, chef, cook, request, claim, claimSoon, finish } = await openKitchen(t);
    const [one, two] = [await request({ limits: OVEN }), await request({ limits: OVEN })];
    assert.deepEqual(await claim(), [one]);
    await cook.send({ kind: 'question', taskId: one, prompt: 'Salt?' });
    await settled(parley);
    await parley.restart();
    assert.deepEqual(await claim(), []);
    assert.equal((await chef.send({ kind: 'answer', taskId: one, answer: 'yes' })).status, 202);
    await finish(one);
    assert.deepEqual(await claimSoon(1), [two]);
  });

  it('keeps its limits in a batch, in a graph, in the runs of a schedule, and where it runs again', async (t) => {
    const { parley, chef, cook, request, claim, finish } = await openKitchen(t);
    const assertLimited = async (id: string): Promise<void> =>
      assert.deepEqual((await parley.admin.call('GET', `/v1/tasks/${id}`)).body.limits, OVEN, id);
    const first = await request({ limits: OVEN });
    assert.deepEqual(await claim(), [first]);
    await finish(first);
    const rerun = await chef.call('POST', `/v1/tasks/${first}/rerun`, {});
    await assertLimited(rerun.body.id);
    const [item, node] = [randomUUID(), randomUUID()];
    const tasks = [{ kind: 'request', id: item, capability: 'soup', limits: OVEN }];
    const batch = await chef.call('POST', '/v1/batches', { batchId: randomUUID(), tasks });
    assert.ok(batch.status < 300, JSON.stringify(batch.body));
    await eventually(() => assertLimited(item));
    const nodes = [{ taskId: node, capability: 'soup', limits: OVEN }];
    const graph = await chef.call('POST', '/v1/graphs', { graphId: randomUUID(), nodes });
    assert.equal(graph.status, 202, JSON.stringify(graph.body));
    await eventually(() => assertLimited(node));
    const task = { capability: 'soup', limits: OVEN };
    assert.equal((await chef.call('PUT', '/v1/schedules/daily', { cron: '0 6 * * *', task })).status, 201);
    await assertLimited((await chef.call('POST', '/v1/schedules/daily/run')).body.id);
    const asker = await parley.agent('asker', { dialect: 'a2a' });
    const metadata = { parley: { capability: 'soup', limits: OVEN } };
    const parts = [{ text: 'hi' }];
    const sent = await asker.send({ message: { messageId: randomUUID(), role: 'ROLE_USER', parts, metadata } });
    const failure = { kind: 'failure', taskId: sent.body.taskId, code: 'burnt', message: 'Black.', retryable: false };
    await cook.send(failure);
    const retried = await parley.admin.call('POST', `/v1/tasks/${sent.body.taskId}/retry`);
    assert.notEqual(retried.body.id, sent.body.taskId);
    await assertLimited(retried.body.id);
  });

  it('starts though many before it wait for another key', async (t) => {
    const { parley, request, claim, claimSoon, finish } = await openKitchen(t);
    const wide = [{ key: 'oven', concurrency: 2 }];
    const [zoe, yan] = [
      await parley.agent('zoe', { dialect: 'native' }),
      await parley.agent('yan', { dialect: 'native' }),
    ];
    const held = [await request({ limits: wide }, zoe), await request({ limits: wide }, zoe)];
    assert.deepEqual((await claim()).toSorted(), held.toSorted());
    const set = await parley.admin.call('PUT', '/v1/limits/requester:chef', { concurrency: 1 });
    assert.equal(set.status, 200, JSON.stringify(set.body));
    for (let count = 0; count < 45; count++) await request({ limits: wide });
    const last = await request({ limits: wide }, yan);
    assert.deepEqual(await claim(), []);
    for (const id of held) await finish(id);
    assert.ok((await claimSoon(2)).includes(last));
  });

  it('names at most four keys, each once, and none that is for rules', async (t) => {
    const { chef } = await openKitchen(t);
    const send = (limits: object[]) => chef.send({ kind: 'request', id: randomUUID(), capability: 'soup', limits });
    for (const limits of [
      [],
      [...OVEN, ...OVEN],
      [{ key: 'requester:chef', concurrency: 1 }],
      [{ key: 'a b' }],
      [{ key: 'oven', concurrency: 0 }],
      [{ key: 'oven', rate: { starts: 1, seconds: 0 } }],
      ['a', 'b', 'c', 'd', 'e'].map((key) => ({ key })),
    ])
      assertRefused(await send(limits), 400, 'invalid_message');
  });

  it('says so in the place of its dialect', async (t) => {
    const { parley, chef, request } = await openKitchen(t);
    const assertLimited = async (sender: TestAgent, id: string) =>
      assert.deepEqual((await sender.task(id)).limits, OVEN, id);
    await assertLimited(chef, await request({ limits: OVEN }));
    const taskFormat = await parley.agent('tf', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    const asked = tfRequest({ context: { limits: OVEN } });
    await taskFormat.send(asked);
    await assertLimited(taskFormat, asked.id);
    const scout = await agentOsAgent(parley, 'scout');
    await agentOsAgent(parley, 'monitor');
    const said = await scout.say('command', 'monitor', { limits: OVEN, payload: content({ action: 'look' }) });
    assert.deepEqual((await scout.task(said.id)).limits, OVEN);
    const sender = await parley.agent('sender', messageRouting);
    await parley.agent('receiver', messageRouting);
    const payload = { task: 'look', context: { limits: OVEN } };
    const sent = await sender.send(mrMessage('task-delegation', 'sender', 'receiver', { payload }));
    await assertLimited(sender, sent.body.taskId);
    const knight = await parley.agent('knight');
    await assertLimited(knight, await knight.request({ limits: OVEN }));
    const asker = await parley.agent('asker', { dialect: 'a2a' });
    const metadata = { parley: { capability: 'soup', limits: OVEN } };
    const reply = await asker.send({
      message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hi' }], metadata },
    });
    await assertLimited(asker, reply.body.taskId);
  });
});

describe('the limits of an operator', () => {
  it('hold for all tasks of a requester, a domain or a capability, and let more start when they are raised', async (t) => {
    const { parley, request, claim, claimSoon, finish } = await openKitchen(t);
    const put = async (key: string, body: object) => {
      const reply = await parley.admin.call('PUT', `/v1/limits/${encodeURIComponent(key)}`, body);
      assert.equal(reply.status, 200, JSON.stringify(reply.body));
      return reply.body;
    };
    const first: string[] = [];
    for (let at = 0; at < 3; at++) {
      first.push(await request());
      parley.clock.advance(1);
    }
    assert.partialDeepStrictEqual(await put('requester:*', { concurrency: 1 }), {
      key: 'requester:*',
      concurrency: 1,
      source: 'operator',
    });
    assert.deepEqual(await claim(), [first[0]]);
    const other = await parley.agent('other', { dialect: 'native' });
    const theirs = await request({}, other);
    assert.deepEqual(await claim(), [theirs]);
    await put('requester:chef', { concurrency: 2 });
    assert.deepEqual(await claimSoon(1), [first[1]]);
    assert.deepEqual(await claim(), []);
    await put('capability:soup', { concurrency: 2 });
    await finish(first[0] ?? '');
    await finish(first[1] ?? '');
    assert.deepEqual(await claimSoon(1), [first[2]]);
    const bread = await request({ capability: 'bread' }, other);
    assert.deepEqual(await claim(), []);
    await finish(theirs);
    assert.deepEqual(await claimSoon(1), [bread]);
    assert.equal((await parley.admin.call('DELETE', '/v1/limits/requester%3A*')).status, 204);
    const keys = (await parley.admin.call('GET', '/v1/limits')).body.limits.map(({ key }: { key: string }) => key);
    assert.deepEqual(keys, ['capability:soup', 'requester:chef', 'requester:other']);
  });

  it('replace those of the tasks and of the configuration, and end with their removal', async (t) => {
    const { default: base } = await import('../../parley.config.ts');
    const { default: project } = base.projects;
    assert.ok(project);
    const projects = {
      ...base.projects,
      default: { ...project, taskLimits: { 'domain:security': { concurrency: 1 } } },
    };
    const { parley, request, claim, claimSoon } = await openKitchen(t, { config: { projects } });
    const guard = await parley.agent('guard', { dialect: 'native', domains: ['security'] });
    const ids = [await request({ capability: 'security.scan' }), await request({ capability: 'security.scan' })];
    assert.equal((await guard.claim({ max: 10 })).length, 1);
    assert.equal((await guard.claim({ max: 10 })).length, 0);
    const { limits } = (await parley.admin.call('GET', '/v1/limits')).body;
    assert.partialDeepStrictEqual(limits, [{ key: 'domain:security', source: 'configuration', concurrency: 1 }]);
    await parley.admin.call('PUT', '/v1/limits/domain%3Asecurity', { concurrency: 2 });
    await eventually(async () => assert.equal((await guard.claim({ max: 10 })).length, 1));
    assert.equal(ids.length, 2);
    await parley.admin.call('PUT', '/v1/limits/oven', { concurrency: 2 });
    for (let at = 0; at < 3; at++) await request({ limits: OVEN });
    assert.equal((await claim()).length, 2);
    await parley.admin.call('DELETE', '/v1/limits/oven');
    assert.deepEqual(await claim(), []);
    await parley.admin.call('PUT', '/v1/limits/oven', { rate: { starts: 9, seconds: 1 } });
    await claimSoon(1);
    assertRefused(await parley.admin.call('PUT', '/v1/limits/oven', {}), 400, 'invalid_request');
    assertRefused(await parley.admin.call('GET', '/v1/limits/a%20b'), 400, 'invalid_request');
  });
});
