import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { type TestAgent, taskRequest } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';
import { isSigned, outboundConfig, webhookReceiver } from '../support/webhook-receiver.ts';
import { settled } from './refusal.ts';

const CLOUD_EVENTS = { accept: 'application/cloudevents+json' };
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

const requestTraced = async (requester: TestAgent): Promise<string> => {
  const message = taskRequest(requester.id);
  const { status } = await requester.call('POST', '/v1/messages', message, { traceparent: TRACE });
  assert.equal(status, 202);
  return message.id;
};

// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
const assertCloudEvent = (event: any, type: string, taskId: string) => {
  const { id, data, traceparent, ...rest } = event;
  assert.match(id, new RegExp(`^${taskId}:`));
  assert.equal(data.taskId, taskId);
  assert.equal(traceparent.slice(0, 35), TRACE.slice(0, 35));
  assert.deepEqual(rest, {
    specversion: '1.0',
    source: '/projects/default',
    type: `dev.parley.${type}`,
    subject: taskId,
    time: rest.time,
    datacontenttype: 'application/json',
  });
  assert.equal(new Date(rest.time).toISOString(), rest.time);
};

describe('CloudEvents', () => {
  it('are pages of the event log in batch mode, with the cursor beside them', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const id = await requestTraced(requester);
    await worker.claim();
    await settled(parley);
    for (const accept of [CLOUD_EVENTS.accept, 'application/cloudevents-batch+json']) {
      const page = await requester.call('GET', '/v1/events?limit=1', undefined, { accept });
      assert.equal(page.headers['content-type'], 'application/cloudevents-batch+json');
      assert.equal(page.body.length, 1);
      assertCloudEvent(page.body[0], 'task.requested', id);
      const after = page.headers['parley-cursor'];
      const rest = await requester.call('GET', `/v1/events?type=task.*&after=${after}`, undefined, { accept });
      assert.equal(rest.body.length, 1);
      assertCloudEvent(rest.body[0], 'task.claimed', id);
      const last = await requester.call('GET', '/v1/events?last=1&type=task.*', undefined, { accept });
      assert.deepEqual(last.body, rest.body);
    }
    const own = await requester.call('GET', '/v1/events?limit=1');
    assert.equal(own.headers['content-type'], 'application/json');
    assert.equal(own.body.events[0].type, 'task.requested');
  });

  it('are the data of a stream that asks for them, beside one that does not', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester');
    const gone = new AbortController();
    t.after(() => gone.abort());
    const follow = async (accept: string): Promise<() => Promise<string>> => {
      const { body } = await parley.parley.handle({
        method: 'GET',
        path: '/v1/events',
        query: 'type=task.*',
        headers: { authorization: `Bearer ${requester.key}`, accept },
        readBody: createBodyReader(Buffer.of()),
        signal: gone.signal,
      });
      assert.ok(typeof body !== 'string' && !(body instanceof Uint8Array));
      const pieces = body[Symbol.asyncIterator]();
      await pieces.next();
      return async () => String((await pieces.next()).value);
    };
    const readCloudEvents = await follow(`text/event-stream, ${CLOUD_EVENTS.accept}`);
    const readEvents = await follow('text/event-stream');
    const id = await requestTraced(requester);
    const [, data = ''] = /^data: (.*)$/m.exec(await readCloudEvents()) ?? [];
    assertCloudEvent(JSON.parse(data), 'task.requested', id);
    const [, own = ''] = /^data: (.*)$/m.exec(await readEvents()) ?? [];
    assert.equal(JSON.parse(own).type, 'task.requested');
  });

  it('are what a webhook is sent that says so, signed, and no longer when it says so no more', async (t) => {
    const receiver = await webhookReceiver(t);
    const parley = await testParley(t, { config: outboundConfig });
    const requester = await parley.agent('requester');
    const put = (fields: object) =>
      parley.admin.call('PUT', '/v1/webhooks/hook', { url: receiver.url, types: ['task.requested'], ...fields });
    const { body } = await put({ format: 'cloudevents' });
    assert.equal(body.webhook.format, 'cloudevents');
    const id = await requestTraced(requester);
    const [first] = await receiver.waitFor(1);
    assert.ok(first && isSigned(first, body.secret));
    assert.equal(first.headers['content-type'], 'application/cloudevents+json');
    assert.equal(first.headers['webhook-id'], first.body.id);
    assertCloudEvent(first.body, 'task.requested', id);
    assert.equal((await put({})).body.webhook.format, undefined);
    await requester.request();
    const [, second] = await receiver.waitFor(2);
    assert.deepEqual([second?.body.type, second?.headers['content-type']], ['task.requested', 'application/json']);
    assert.equal((await put({ format: 'xml' })).status, 400);
  });
});
