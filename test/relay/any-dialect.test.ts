import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { eventually } from '../support/eventually.ts';
import { consumerOf, nextOf, relaySite } from '../support/relay-site.ts';

describe('an agent of any dialect with a NATS client', () => {
  it('is given tasks in its inbox, reports on parley.<project>.send, and asks for tasks there', async (t) => {
    const site = await relaySite(t);
    const tim = await site.agent('tim', {});
    await site.agent('cook', { dialect: 'task-format', via: 'nats' });
    await site.relay();
    const js = jetstream(site.client);
    const send = (message: object) => js.publish('parley.default.send', JSON.stringify(message));
    const inbox = await consumerOf(site.client, 'PARLEY_default', {
      durable_name: 'cook',
      filter_subject: 'parley.default.cook.inbox',
    });
    const id = await tim.request({ to: 'cook', payload: { task: 'intel.news' } });
    const given = await nextOf(inbox);
    assert.equal(given.body.id, id);
    assert.equal(given.body.routing.source, 'tim');
    await send({ id, status: 'completed', result: { text: 'stew' }, metadata: { agent: 'cook' } });
    assert.equal((await tim.task(id, 10)).state, 'completed');

    const galahad = await site.agent('galahad', { capabilities: ['intel.news'] });
    const own = randomUUID();
    await send({ id: own, type: 'intel.news', payload: {}, routing: { source: 'cook' }, context: {} });
    await galahad.claim({ wait: 10 });
    await galahad.complete(own, { content: 'read all about it' });
    const [claimed, done] = [await nextOf(inbox), await nextOf(inbox)];
    assert.equal(claimed.body.status, 'pending');
    assert.equal(done.body.status, 'completed');
    assert.deepEqual(done.body.result, { content: 'read all about it' });
  });

  it('reads notes in its inbox', async (t) => {
    const site = await relaySite(t);
    const oracle = await site.agent('oracle', { dialect: 'agent-os' });
    await site.agent('scribe', { dialect: 'agent-os', via: 'nats' });
    await site.relay();
    const party = (agentId: string) => ({ agentId, instanceId: agentId });
    const note = {
      id: randomUUID(),
      timestamp: '2026-02-08T15:00:00Z',
      version: '1.0.0',
      from: party('oracle'),
      to: party('scribe'),
      type: 'event',
      payload: { content: { says: 'rain' } },
    };
    const sent = await oracle.send(note);
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    const inbox = await eventually(() =>
      consumerOf(site.client, 'PARLEY_default', {
        durable_name: 'scribe',
        filter_subject: 'parley.default.scribe.inbox',
      }),
    );
    const { body } = await nextOf(inbox);
    assert.equal(body.id, note.id);
    assert.deepEqual(body.payload.content, { says: 'rain' });
  });

  it('is refused where the project has no relay', async (t) => {
    const site = await relaySite(t);
    const { projects } = site.parley.deps.config;
    Object.assign(projects.default ?? {}, { relay: false });
    t.after(() => Object.assign(projects.default ?? {}, { relay: true }));
    const reply = await site.admin.call('PUT', '/v1/agents/cook', { dialect: 'task-format', via: 'nats' });
    assert.equal(reply.status, 400);
    assert.match(reply.body.detail, /has no relay/);
  });
});
