import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { settled } from '../http/refusal.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';
import { isSigned, outboundConfig, webhookReceiver } from '../support/webhook-receiver.ts';

const TOKEN = 'a-token-that-only-both-know';

const scene = async (t: TestContext) => {
  const receiver = await webhookReceiver(t);
  const parley = await testParley(t, { config: outboundConfig });
  const asker = await parley.agent('asker', { dialect: 'a2a' });
  const worker = await parley.agent('worker');
  const stranger = await parley.agent('stranger');
  const call = async (method: string, params: object, by = asker) => {
    const rpc = { jsonrpc: '2.0', id: 1, method, params };
    return (await by.call('POST', '/a2a/worker', rpc, { 'a2a-version': '1.0' })).body;
  };
  const send = async (more: object = {}) => {
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'Tides.' }] };
    const { result, error } = await call('SendMessage', {
      message,
      configuration: { returnImmediately: true, ...more },
    });
    assert.ok(result, JSON.stringify(error));
    return result.task;
  };
  const config = {
    url: receiver.url,
    token: TOKEN,
    authentication: { scheme: 'Bearer', credentials: 'the-receivers-own' },
  };
  return { receiver, parley, worker, stranger, call, send, config };
};

const stateOf = ({ body }: { body: { statusUpdate?: { status: { state: string } } } }) =>
  body.statusUpdate?.status.state;

describe('A push notification', () => {
  it('tells every change of the task from the first on, with what its client gave to know Parley by', async (t) => {
    const { receiver, worker, send, config } = await scene(t);
    const { id } = await send({ taskPushNotificationConfig: config });
    await worker.claim();
    await worker.progress(id, { percent: 50, message: 'Half of it.' });
    await worker.complete(id, { format: 'text', content: 'Done.' });
    const calls = await receiver.waitFor(4);
    const kinds = calls.map((call) => stateOf(call) ?? Object.keys(call.body)[0]);
    assert.deepEqual(kinds, ['TASK_STATE_WORKING', 'TASK_STATE_WORKING', 'artifactUpdate', 'TASK_STATE_COMPLETED']);
    for (const call of calls) {
      assert.equal(call.headers['content-type'], 'application/a2a+json');
      assert.equal(call.headers.authorization, 'Bearer the-receivers-own');
      assert.equal(call.headers['x-a2a-notification-token'], TOKEN);
      assert.ok(isSigned(call, TOKEN));
    }
  });

  it('comes later from a receiver that is down, also after a restart', async (t) => {
    const { receiver, parley, worker, send, config } = await scene(t);
    receiver.answers.status = 503;
    await send({ taskPushNotificationConfig: config });
    await worker.claim();
    await receiver.waitFor(1);
    await settled(parley);
    await parley.restart();
    receiver.answers.status = 200;
    parley.clock.advance(3_600_000);
    const [first, again] = await receiver.waitFor(2);
    assert.deepEqual(again?.body, first?.body);
    assert.equal(again?.headers['webhook-id'], first?.headers['webhook-id']);
  });

  it('is configured, read without its secrets, listed and deleted, by its client alone', async (t) => {
    const { parley, receiver, worker, stranger, call, send, config } = await scene(t);
    const { id: taskId } = await send();
    const { result: made } = await call('CreateTaskPushNotificationConfig', { ...config, taskId });
    const { id } = made;
    const shown = { id, taskId, url: config.url, authentication: { scheme: 'Bearer' } };
    assert.deepEqual(made, shown);
    assert.deepEqual((await call('GetTaskPushNotificationConfig', { taskId, id })).result, shown);
    assert.deepEqual((await call('ListTaskPushNotificationConfigs', { taskId })).result.configs, [shown]);
    for (const method of ['GetTaskPushNotificationConfig', 'DeleteTaskPushNotificationConfig']) {
      const { error } = await call(method, { taskId, id }, stranger);
      const missing = await call(method, { taskId: randomUUID(), id }, stranger);
      assert.deepEqual([error.code, error.data[0].reason], [missing.error.code, missing.error.data[0].reason]);
    }
    for (let i = 0; i < 2; i++)
      assert.deepEqual((await call('DeleteTaskPushNotificationConfig', { taskId, id })).result, {});
    await worker.claim();
    await settled(parley);
    assert.equal(receiver.calls.length, 0);
  });

  it('is refused with a private address, and then there is no task', async (t) => {
    const parley = await testParley(t);
    const asker = await parley.agent('asker', { dialect: 'a2a' });
    await parley.agent('worker');
    const params = {
      message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'x' }] },
      configuration: { returnImmediately: true, taskPushNotificationConfig: { url: 'https://169.254.169.254/' } },
    };
    const rpc = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params };
    const { body } = await asker.call('POST', '/a2a/worker', rpc, { 'a2a-version': '1.0' });
    assert.deepEqual([body.error.code, body.error.data[0].reason], [-32602, 'ADDRESS_FORBIDDEN']);
    await eventually(async () => assert.deepEqual((await asker.call('GET', '/v1/tasks')).body.tasks, []));
  });
});
