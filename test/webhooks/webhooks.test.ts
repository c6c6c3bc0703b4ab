import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { RETRY_MS } from '../../shared/webhooks/deliver.ts';
import { assertRefused, settled } from '../http/refusal.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';
import { isSigned, outboundConfig, webhookReceiver } from '../support/webhook-receiver.ts';

const scene = async (t: TestContext) => {
  const receiver = await webhookReceiver(t);
  const parley = await testParley(t, { config: outboundConfig });
  const asker = await parley.agent('asker');
  const worker = await parley.agent('worker');
  const put = async (body: object, id = 'hook') => {
    const answer = await parley.admin.call('PUT', `/v1/webhooks/${id}`, {
      url: receiver.url,
      types: ['task.*'],
      ...body,
    });
    assert.ok(answer.status < 300, JSON.stringify(answer.body));
    return answer.body;
  };
  const done = async (): Promise<string> => {
    const id = await asker.request({ to: 'worker' });
    await worker.claim();
    await worker.complete(id);
    return id;
  };
  const deliveries = async () => (await parley.admin.call('GET', '/v1/webhooks/hook/deliveries')).body.deliveries;
  const get = async () => (await parley.admin.call('GET', '/v1/webhooks/hook')).body;
  return { receiver, parley, asker, worker, put, done, deliveries, get };
};

const typesOf = (calls: { body: { type: string } }[]): string[] => calls.map(({ body }) => body.type);

describe('A webhook', () => {
  it('is sent the events of its types, in order and signed, and its secret is shown once', async (t) => {
    const { receiver, parley, put, done, get } = await scene(t);
    const { secret } = await put({ types: ['task.requested', 'task.completed'] });
    assert.match(secret, /^whsec_/);
    const taskId = await done();
    const calls = await receiver.waitFor(2);
    assert.deepEqual(typesOf(calls), ['task.requested', 'task.completed']);
    for (const call of calls) {
      assert.ok(isSigned(call, secret));
      assert.equal(call.body.data.taskId, taskId);
    }
    assert.equal(new Set(calls.map(({ headers }) => headers['webhook-id'])).size, 2);
    assert.equal((await put({ description: 'again' })).secret, undefined);
    assert.doesNotMatch(JSON.stringify([await get(), (await parley.admin.call('GET', '/v1/webhooks')).body]), /whsec_/);
  });

  it('is sent only what concerns its agent, its domain or its task', async (t) => {
    const { receiver, parley, put, done } = await scene(t);
    await put({ agent: 'nobody' }, 'a');
    await put({ domain: 'home' }, 'b');
    await put({ taskId: 'another' }, 'c');
    await put({ agent: 'worker', types: ['task.completed'] }, 'd');
    await done();
    await receiver.waitFor(1);
    await settled(parley);
    assert.deepEqual(typesOf(receiver.calls), ['task.completed']);
  });

  it('is sent everything, once and in order, by a receiver that was down for hours', async (t) => {
    const { receiver, parley, put, done, deliveries } = await scene(t);
    await put({ agent: 'worker', types: ['task.requested', 'task.claimed', 'task.completed'] });
    receiver.answers.status = 503;
    await done();
    await receiver.waitFor(1);
    for (const [index, ms] of RETRY_MS.slice(0, 5).entries()) {
      if (index === 4) receiver.answers.status = 204;
      await eventually(async () => assert.equal((await deliveries()).length, index + 1));
      await settled(parley);
      parley.clock.advance(ms);
      await receiver.waitFor(index + 2);
    }
    const calls = await receiver.waitFor(8);
    const ids = calls.map(({ headers }) => headers['webhook-id']);
    assert.equal(new Set(ids.slice(0, 6)).size, 1);
    assert.deepEqual(typesOf(calls.slice(5)), ['task.requested', 'task.claimed', 'task.completed']);
    await settled(parley);
    assert.equal(receiver.calls.length, 8);
  });

  it('goes on after a restart in the middle of its retries', async (t) => {
    const { receiver, parley, put, done, deliveries } = await scene(t);
    await put({ types: ['task.completed'] });
    receiver.answers.status = 500;
    await done();
    await eventually(async () => assert.equal((await deliveries()).length, 1));
    await settled(parley);
    await parley.restart();
    receiver.answers.status = 200;
    parley.clock.advance(60_000);
    const [, again] = await receiver.waitFor(2);
    assert.equal(again?.body.type, 'task.completed');
  });

  it('is disabled by a receiver that answers 410, and enabled by the next PUT', async (t) => {
    const { receiver, put, done, get } = await scene(t);
    await put({ types: ['task.completed'] });
    receiver.answers.status = 410;
    await done();
    await eventually(async () => assert.equal((await get()).disabled?.reason, 'gone'));
    receiver.answers.status = 200;
    await done();
    await put({ types: ['task.completed'] });
    const id = await done();
    const calls = await receiver.waitFor(2);
    assert.equal(calls.at(-1)?.body.data.taskId, id);
  });

  it('is tested without an event, follows no redirect, and tells how it was answered', async (t) => {
    const { receiver, parley, put, deliveries } = await scene(t);
    await put({});
    const tested = () => parley.admin.call('POST', '/v1/webhooks/hook/test');
    const { body: first } = await tested();
    assert.deepEqual([first.delivered, first.status], [true, 200]);
    Object.assign(receiver.answers, { status: 302, headers: { location: receiver.url } });
    const { body: second } = await tested();
    assert.deepEqual([second.delivered, second.status], [false, 302]);
    assert.deepEqual(typesOf(receiver.calls), ['webhook.test', 'webhook.test']);
    assert.deepEqual((await deliveries()).length, 2);
  });

  it('is refused with an address that Parley does not call, and then nothing has changed', async (t) => {
    const parley = await testParley(t);
    for (const url of [
      'http://example.com/',
      'https://10.0.0.1/',
      'https://[::1]/',
      'https://localhost/',
      'ftp://a.b/',
    ]) {
      const answer = await parley.admin.call('PUT', '/v1/webhooks/hook', { url, types: ['task.*'] });
      assertRefused(answer, 400, 'address_forbidden');
    }
    const { body } = await parley.admin.call('GET', '/v1/webhooks');
    assert.deepEqual(body.webhooks, []);
  });
});
