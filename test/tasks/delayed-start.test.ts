import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { assertRefused, settled } from '../http/refusal.ts';
import { ids } from '../http/task-pages.ts';
import { agentOsAgent, content } from '../support/agent-os-agent.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const HOUR_MS = 3600_000;

const at = ({ clock }: Pick<TestParley, 'clock'>, ms: number): string => new Date(clock.now() + ms).toISOString();

const typesOf = async ({ admin }: TestParley, id: string): Promise<string[]> =>
  (await admin.call('GET', '/v1/events?limit=500')).body.events
    .filter(({ data }: { data: { taskId?: string } }) => data.taskId === id)
    .map(({ type }: { type: string }) => type);

describe('a task with a start time', () => {
  it('is claimed on its second and not before, and its time to live begins then', async (t) => {
    const parley = await testParley(t);
    const { clock, admin } = parley;
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const notBefore = at(parley, HOUR_MS);
    const id = await requester.request({ notBefore, ttl: 600 });
    const task = await requester.task(id);
    assert.partialDeepStrictEqual(task, { state: 'requested', notBefore, expiresAt: at(parley, HOUR_MS + 600_000) });
    assert.equal(task.retryAt, undefined);
    clock.advance(HOUR_MS - 1);
    await settled(parley);
    assert.deepEqual(await worker.claim(), []);
    assertRefused(await worker.claimed(id), 409, 'retry_pending');
    const waiting = worker.claim({ wait: 20 });
    clock.advance(1);
    const [{ message }] = await waiting;
    assert.equal(message.id, id);
    await worker.complete(id);
    await settled(parley);
    assert.deepEqual(await typesOf(parley, id), ['task.requested', 'task.ready', 'task.claimed', 'task.completed']);
    assert.equal((await requester.task(id)).notBefore, undefined);
    const late = await requester.request({ notBefore: at(parley, HOUR_MS), ttl: 600 });
    clock.advance(HOUR_MS + 600_000);
    await eventually(async () => assert.equal((await requester.task(late)).state, 'expired'));
    assert.deepEqual(await ids(admin, 'delayed=true'), []);
  });

  it('starts at once if that time is over, and is rejected if it is more than a year away', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const id = await requester.request({ notBefore: at(parley, -1) });
    assert.equal((await worker.claim())[0].message.id, id);
    const far = { id: randomUUID(), version: '1.0', type: 'task.request', from: 'requester', timestamp: at(parley, 0) };
    const payload = { task: 'security.briefing', params: {} };
    const send = (notBefore: string) => requester.send({ ...far, notBefore, payload });
    assertRefused(await send(at(parley, 400 * 24 * HOUR_MS)), 400, 'invalid_message');
    assertRefused(await send('tomorrow'), 400, 'invalid_message');
    assert.equal((await requester.call('GET', `/v1/tasks/${far.id}`)).status, 404);
  });

  it('is listed as delayed and as requested, is cancelled before it starts, and survives a restart', async (t) => {
    const parley = await testParley(t);
    const { admin, clock } = parley;
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const [one, two] = [
      await requester.request({ notBefore: at(parley, HOUR_MS) }),
      await requester.request({ notBefore: at(parley, HOUR_MS) }),
    ];
    assert.deepEqual((await ids(admin, 'delayed=true')).toSorted(), [one, two].toSorted());
    assert.deepEqual(await ids(admin, 'retrying=true'), []);
    assert.equal((await ids(admin, 'status=requested')).length, 2);
    assert.equal((await requester.call('POST', `/v1/tasks/${one}/cancel`)).status, 200);
    await parley.restart();
    clock.advance(HOUR_MS);
    await eventually(async () => assert.equal((await worker.claim({ max: 10 }))[0]?.message.id, two));
    assert.equal((await requester.task(one)).state, 'cancelled');
  });

  it('waits for its dependencies and for its time, whichever is later', async (t) => {
    const parley = await testParley(t);
    const chef = await parley.agent('chef', { dialect: 'native' });
    const cook = await parley.agent('cook', { dialect: 'native', capabilities: ['soup'] });
    const request = async (id: string, more: object) => {
      const reply = await chef.send({ kind: 'request', id, capability: 'soup', ...more });
      assert.equal(reply.status, 202, JSON.stringify(reply.body));
    };
    await request('first', {});
    await request('timely', { dependencies: ['first'], notBefore: at(parley, HOUR_MS) });
    await cook.claim();
    await cook.send({ kind: 'result', taskId: 'first', output: 1 });
    await settled(parley);
    await eventually(async () => assert.equal((await chef.task('timely')).state, 'requested'));
    assert.deepEqual(await cook.claim(), []);
    parley.clock.advance(HOUR_MS);
    await eventually(async () => assert.equal((await cook.claim())[0]?.message.id, 'timely'));
    await request('second', { ttlSeconds: 7200 });
    await request('late', { dependencies: ['second'], notBefore: at(parley, HOUR_MS) });
    parley.clock.advance(HOUR_MS);
    await settled(parley);
    assert.equal((await chef.task('late')).state, 'waiting');
    assert.equal((await cook.claim())[0].message.id, 'second');
    await cook.send({ kind: 'result', taskId: 'second', output: 1 });
    await eventually(async () => assert.equal((await cook.claim())[0]?.message.id, 'late'));
    await settled(parley);
    for (const id of ['timely', 'late'])
      assert.equal((await typesOf(parley, id)).filter((type) => type === 'task.ready').length, 1, id);
  });

  it('is retried after a failure as any other', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const id = await requester.request({ notBefore: at(parley, HOUR_MS) });
    parley.clock.advance(HOUR_MS);
    await eventually(async () => assert.equal((await worker.claim()).length, 1));
    await worker.fail(id);
    const { notBefore, retryAt } = await requester.task(id);
    assert.deepEqual([notBefore, typeof retryAt], [undefined, 'string']);
    assert.deepEqual(await ids(parley.admin, 'retrying=true'), [id]);
    parley.clock.advance(HOUR_MS);
    await eventually(async () => assert.equal((await worker.claim()).length, 1));
  });

  it('says so in the place of its dialect', async (t) => {
    const parley = await testParley(t);
    const notBefore = at(parley, HOUR_MS);
    const assertDelayed = async (sender: TestAgent, send: Promise<{ status: number; body: { taskId?: string } }>) => {
      const { status, body } = await send;
      assert.ok([200, 202].includes(status), JSON.stringify(body));
      assert.equal((await sender.task(body.taskId ?? '')).notBefore, notBefore, JSON.stringify(body));
    };
    const chef = await parley.agent('chef', { dialect: 'task-format' });
    await parley.agent('cook', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    await assertDelayed(chef, chef.send(tfRequest({ context: { notBefore } })));
    const scout = await agentOsAgent(parley, 'scout');
    await agentOsAgent(parley, 'monitor');
    const said = await scout.say('command', 'monitor', { notBefore, payload: content({ action: 'look' }) });
    assert.equal((await scout.task(said.id)).notBefore, notBefore);
    const sender = await parley.agent('sender', messageRouting);
    await parley.agent('receiver', messageRouting);
    const payload = { task: 'look', context: { not_before: notBefore } };
    const message = mrMessage('task-delegation', 'sender', 'receiver', { payload });
    await assertDelayed(sender, sender.send(message));
    const native = await parley.agent('native-one', { dialect: 'native', capabilities: ['soup'] });
    await assertDelayed(native, native.send({ kind: 'request', id: 'n-1', capability: 'soup', notBefore }));
    const parts = [{ text: 'hello' }];
    const metadata = { parley: { capability: 'soup', notBefore } };
    const asker = await parley.agent('asker', { dialect: 'a2a' });
    const a2a = { message: { messageId: randomUUID(), role: 'ROLE_USER', parts, metadata } };
    await assertDelayed(asker, asker.send(a2a));
  });
});
