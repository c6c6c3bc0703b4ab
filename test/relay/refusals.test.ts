import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { createParleyApi } from '../../relay/parley-api.ts';
import { about, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { consumerOf, nextOf, relaySite } from '../support/relay-site.ts';

const dead = (client: Parameters<typeof consumerOf>[0]) =>
  consumerOf(client, 'PARLEY_DEAD_LETTERS', { durable_name: `looks-after-${randomUUID()}` });

describe('what Parley refuses', () => {
  it('a knight that loses a claim is told on claim-rejected', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', {});
    const knight = { transport: 'nats', capabilities: ['security.briefing'] };
    await site.agent('galahad', knight);
    await site.agent('lancelot', knight);
    const relay = await site.relay();
    const rejections = await consumerOf(site.client, 'ROUNDTABLE_EVENTS', {
      durable_name: 'rejections',
      filter_subject: 'roundtable.events.task.claim-rejected',
    });
    const js = jetstream(site.client);
    const id = await tim.request();
    const claim = (agent: string) =>
      js.publish('roundtable.events.task.claimed', JSON.stringify(about('task.claimed', agent, id, {})));
    await claim('galahad');
    await eventually(async () => assert.equal((await tim.task(id)).state, 'claimed'));
    await claim('lancelot');
    const { body } = await nextOf(rejections);
    assert.equal(body.type, 'task.claim-rejected');
    assert.equal(body.to, 'lancelot');
    assert.equal(body.correlationId, id);
    assert.deepEqual(body.payload, {
      code: 'already_claimed',
      message: `The task ${id} is held by galahad.`,
      holder: 'galahad',
    });
    await eventually(() => assert.equal(relay.metrics.getCount('ingress', 'rejected'), 1));
    assert.equal(relay.metrics.getCount('ingress', 'dead_letters'), 0);
  });

  it('ends in parley.dead-letters as it came, with the problem, and is never tried again', async (t) => {
    const site = await relaySite(t);
    await site.agent('tim', { transport: 'nats' });
    await site.agent('gwen', {});
    const relay = await site.relay();
    const js = jetstream(site.client);
    const bad = taskRequest('tim', { payload: { task: 'intel.news' } });
    const wrong = [
      ['roundtable.tasks.intel.news', JSON.stringify({ ...bad, version: '7.0' }), 'unsupported_version'],
      ['roundtable.tasks.intel.news', 'no JSON at all', 'invalid_json'],
      ['roundtable.tasks.intel.news', '{"__proto__":{"x":1},"from":"tim","version":"1.0"}', 'invalid_json'],
      ['roundtable.tasks.intel.weather', JSON.stringify(bad), 'invalid_params'],
      ['roundtable.tasks.intel.news', JSON.stringify({ ...bad, from: 'gwen' }), 'from_mismatch'],
      ['roundtable.tasks.intel.news', JSON.stringify({ ...bad, from: 'nobody' }), 'unknown_agent'],
      ['parley.default.send', '{"hello":"world"}', 'unknown_dialect'],
      ['roundtable.broadcast.alert', JSON.stringify({ ...bad, type: 'broadcast.alert' }), 'forbidden'],
      ['roundtable.broadcast.alert', JSON.stringify({ ...bad, type: 'broadcast.maintenance' }), 'invalid_params'],
    ] as const;
    // One that is in order among them is taken all the same.
    const good = taskRequest('tim', { payload: { task: 'intel.news' } });
    const buried = await dead(site.client);
    for (const [subject, text] of wrong) await js.publish(subject, text);
    await js.publish('roundtable.tasks.intel.news', JSON.stringify(good));
    const found: string[][] = [];
    for (const _ of wrong) {
      const { message } = await nextOf(buried);
      const problem = JSON.parse(message.headers?.get('Parley-Problem') ?? '{}');
      found.push([message.subject.replace('parley.dead-letters.', ''), message.string(), problem.code]);
    }
    assert.deepEqual(found.toSorted(), wrong.map((one) => [...one]).toSorted());
    await eventually(async () => {
      const { status } = await site.admin.call('GET', `/v1/tasks/${good.id}`);
      assert.equal(status, 200);
    });
    assert.equal(relay.metrics.getCount('ingress', 'dead_letters'), wrong.length);
    assert.equal(relay.metrics.getCount('ingress', 'retries'), 0);
    assert.ok(await relay.isReady());
    await eventually(async () => assert.deepEqual(Object.values((await relay.getGauges()).lag).filter(Boolean), []));
  });

  it('is given up also where it is as large as the server allows, and cannot be kept with the problem', async (t) => {
    const site = await relaySite(t);
    const relay = await site.relay();
    const { max_payload: most = 0 } = site.client.info ?? {};
    await jetstream(site.client).publish('parley.default.send', 'x'.repeat(most));
    const { subject, message } = await nextOf(await dead(site.client));
    assert.equal(subject, 'parley.dead-letters.parley.default.send');
    const problem = JSON.parse(message.headers?.get('Parley-Problem') ?? '');
    assert.deepEqual([problem.code, problem.bytes], ['invalid_json', most]);
    await eventually(() => assert.equal(relay.metrics.getCount('ingress', 'dead_letters'), 1));
    assert.equal(relay.metrics.getCount('ingress', 'retries'), 0);
  });

  it('is given up also where its sender told JetStream what to expect', async (t) => {
    const site = await relaySite(t);
    await site.relay();
    const given = headers();
    for (const value of ['one', 'two']) given.append('Own', value);
    const expect = { streamName: 'PARLEY_default', lastSequence: 0 };
    await jetstream(site.client).publish('parley.default.send', 'no JSON', { headers: given, expect });
    const { message } = await nextOf(await dead(site.client));
    assert.deepEqual(message.headers?.values('Own'), ['one', 'two']);
    assert.equal(message.string(), 'no JSON');
  });

  it('a key that is no longer accepted stops the relay, costs no message, and the next key goes on', async (t) => {
    const site = await relaySite(t);
    await site.agent('tim', { transport: 'nats' });
    let key = site.key;
    const relay = await site.relay({ api: createParleyApi(site.address, () => key) });
    const { body } = await site.admin.call('POST', '/v1/relay/key');
    const request = taskRequest('tim', { payload: { task: 'intel.news' } });
    await jetstream(site.client).publish('roundtable.tasks.intel.news', JSON.stringify(request));
    await eventually(async () => assert.ok(!(await relay.isReady())));
    key = body.key;
    await eventually(async () => {
      assert.ok(await relay.isReady());
      assert.equal((await site.admin.call('GET', `/v1/tasks/${request.id}`)).status, 200);
    });
    assert.equal(relay.metrics.getCount('ingress', 'dead_letters'), 0);
  });
});
