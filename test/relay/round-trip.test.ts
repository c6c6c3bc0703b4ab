import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { about, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { consumerOf, nextOf, relaySite } from '../support/relay-site.ts';

describe('a relay', () => {
  it('brings a task that came over HTTPS to a knight with nothing but NATS, and its progress and result back', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', {});
    await site.agent('galahad', { transport: 'nats', capabilities: ['security.briefing'] });
    await site.relay();
    const tasks = await consumerOf(site.client, 'ROUNDTABLE_TASKS', {
      durable_name: 'knights',
      filter_subject: 'roundtable.tasks.security.>',
    });
    const id = await tim.request({ priority: 'high' });

    const { subject, body, message } = await nextOf(tasks);
    assert.equal(subject, 'roundtable.tasks.security.briefing');
    assert.equal(body.id, id);
    assert.equal(body.type, 'task.request');
    assert.equal(body.from, 'tim');
    assert.equal(body.priority, 'high');
    assert.deepEqual(body.payload.params, { scope: 'daily' });
    assert.match(message.headers?.get('traceparent') ?? '', /^00-/);

    const js = jetstream(site.client);
    const say = (subject: string, said: object) => js.publish(subject, JSON.stringify(said));
    await say('roundtable.events.task.claimed', about('task.claimed', 'galahad', id, {}));
    await eventually(async () => assert.equal((await tim.task(id)).state, 'claimed'));
    await say('roundtable.events.task.progress', about('task.progress', 'galahad', id, { percent: 60 }));
    await eventually(async () => assert.equal((await tim.task(id)).progress.percent, 60));
    const result = { status: 'completed', result: { format: 'markdown', content: '## Briefing' } };
    await say(`roundtable.results.security.${id.slice(0, 8)}`, about('task.result', 'galahad', id, result));

    const ended = await tim.task(id, 10);
    assert.equal(ended.state, 'completed');
    assert.equal(ended.metadata.agent, 'galahad');
    const [outcome] = await tim.inbox();
    assert.equal(outcome.type, 'task.result');
    assert.equal(outcome.payload.result.content, '## Briefing');
  });

  it('brings a task from NATS to an agent in the cloud, and its progress and result back', async (t) => {
    const site = await relaySite(t);
    const galahad = await site.agent('galahad', { capabilities: ['intel.news'] });
    await site.agent('tim', { transport: 'nats' });
    await site.relay();
    const js = jetstream(site.client);
    const events = await consumerOf(site.client, 'ROUNDTABLE_EVENTS', { durable_name: 'tims-events' });
    const results = await consumerOf(site.client, 'ROUNDTABLE_RESULTS', { durable_name: 'tims-results' });
    const request = taskRequest('tim', { payload: { task: 'intel.news' } });
    await js.publish('roundtable.tasks.intel.news', JSON.stringify(request));

    const [claimed] = await galahad.claim({ wait: 10 });
    assert.equal(claimed.message.id, request.id);
    assert.equal(claimed.message.from, 'tim');
    await galahad.progress(request.id, { percent: 50, message: 'halfway' });
    await galahad.complete(request.id, { format: 'text', content: 'nothing new' });

    const first = await nextOf(events);
    assert.equal(first.subject, 'roundtable.events.task.claimed');
    assert.equal(first.body.correlationId, request.id);
    const second = await nextOf(events);
    assert.equal(second.subject, 'roundtable.events.task.progress');
    assert.deepEqual(second.body.payload, { percent: 50, message: 'halfway' });
    const outcome = await nextOf(results);
    assert.equal(outcome.subject, `roundtable.results.intel.${request.id}`);
    assert.equal(outcome.body.type, 'task.result');
    assert.equal(outcome.body.to, 'tim');
    assert.deepEqual(outcome.body.payload.result, { format: 'text', content: 'nothing new' });
  });

  it('brings as a card what is too large for the server or the stream', async (t) => {
    const site = await relaySite(t);
    const galahad = await site.agent('galahad', { capabilities: ['intel.news'] });
    const tim = await site.agent('tim', { transport: 'nats', capabilities: ['security.briefing'] });
    const relay = await site.relay();
    const results = await consumerOf(site.client, 'ROUNDTABLE_RESULTS', { durable_name: 'tims-results' });
    const tasks = await consumerOf(site.client, 'ROUNDTABLE_TASKS', {
      durable_name: 'knights',
      filter_subject: 'roundtable.tasks.security.>',
    });
    const large = 'x'.repeat((site.client.info?.max_payload ?? 0) - 200);
    const request = taskRequest('tim', { payload: { task: 'intel.news' } });
    await jetstream(site.client).publish('roundtable.tasks.intel.news', JSON.stringify(request));
    await galahad.claim({ wait: 10 });
    await galahad.complete(request.id, { content: large });
    await galahad.request({ payload: { task: 'security.briefing', params: { text: large } } });

    const { result } = (await nextOf(results)).body.payload;
    assert.equal((await tim.call('GET', result.uri)).body.content.content, large);
    const { params } = (await nextOf(tasks)).body.payload;
    assert.equal((await tim.call('GET', params.uri)).body.content.text, large);
    assert.equal(relay.metrics.getCount('egress', 'dead_letters'), 0);
  });
});
