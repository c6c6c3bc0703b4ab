import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { consumerOf, inboxOf, nextOf, type RelaySite, relaySite } from '../support/relay-site.ts';

const alert = (from: string) => ({ ...taskRequest(from), type: 'broadcast.alert', payload: { text: 'dragons' } });

const heard = (site: RelaySite) => consumerOf(site.client, 'ROUNDTABLE_BROADCAST', { durable_name: randomUUID() });

describe('a broadcast', () => {
  it('of the cloud is told once on its subject and in the inbox of each agent on NATS', async (t) => {
    const site = await relaySite(t);
    const arthur = await site.agent('arthur', { role: 'coordinator' });
    await site.agent('galahad', { transport: 'nats' });
    await site.agent('scribe', { dialect: 'agent-os', transport: 'nats' });
    await site.relay();
    const told = await heard(site);
    const message = alert('arthur');
    const sent = await arthur.send(message);
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    assert.equal((await arthur.send(message)).status, 200);

    const { subject, body } = await nextOf(told);
    assert.equal(subject, 'roundtable.broadcast.alert');
    assert.deepEqual(body, { ...message, priority: 'normal', ttl: 3600 });
    const own = (await nextOf(await inboxOf(site, 'galahad'))).body;
    assert.deepEqual([own.type, own.to, own.correlationId], ['broadcast.alert', 'galahad', message.id]);
    assert.deepEqual(own.payload, message.payload);
    const other = (await nextOf(await inboxOf(site, 'scribe'))).body;
    assert.deepEqual(other.payload.content, { type: 'round-table.broadcast.alert', content: message.payload });
    assert.equal(await told.next({ expires: 1000 }), null);
  });

  it('to some is told each of them by name, knights on its subject and others in their inboxes', async (t) => {
    const site = await relaySite(t);
    const arthur = await site.agent('arthur', { role: 'coordinator' });
    await site.agent('galahad', { transport: 'nats', domains: ['security'] });
    await site.agent('lancelot', { transport: 'nats', domains: ['intel'] });
    await site.agent('scribe', { dialect: 'agent-os', transport: 'nats', domains: ['security'] });
    await site.relay();
    const told = await heard(site);
    const message = alert('arthur');
    const sent = await arthur.call('POST', '/v1/messages', message, { 'parley-broadcast': 'domain:security' });
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    const { subject, body } = await nextOf(told);
    assert.deepEqual([subject, body.to, body.correlationId], ['roundtable.broadcast.alert', 'galahad', message.id]);
    assert.deepEqual(body.payload, message.payload);
    const other = (await nextOf(await inboxOf(site, 'scribe'))).body;
    assert.deepEqual(other.payload.content, { type: 'round-table.broadcast.alert', content: message.payload });
    assert.equal(await told.next({ expires: 1000 }), null);
  });

  it('of a knight on NATS that it sent over HTTPS is told there', async (t) => {
    const site = await relaySite(t);
    const arthur = await site.agent('arthur', { transport: 'nats', role: 'coordinator' });
    await site.relay();
    const told = await heard(site);
    const message = alert('arthur');
    assert.equal((await arthur.send(message)).status, 202);
    assert.equal((await nextOf(told)).body.id, message.id);
  });

  it('on NATS reaches everybody in the cloud, and is not told there again', async (t) => {
    const site = await relaySite(t);
    await site.agent('arthur', { transport: 'nats', role: 'coordinator' });
    const tim = await site.agent('tim', {});
    const relay = await site.relay();
    const told = await heard(site);
    const message = alert('arthur');
    await jetstream(site.client).publish('roundtable.broadcast.alert', JSON.stringify(message));
    const [note, ...more] = await tim.inbox(10);
    assert.deepEqual([note.type, note.correlationId, more], ['broadcast.alert', message.id, []]);
    assert.deepEqual(note.payload, message.payload);
    assert.equal((await nextOf(told)).body.id, message.id);
    await eventually(() => assert.ok(relay.metrics.getCount('egress', 'skipped') >= 1));
    assert.equal(await told.next({ expires: 1000 }), null);
  });

  it('may be of any dialect, with its audience in the header', async (t) => {
    const site = await relaySite(t);
    await site.agent('oracle', { dialect: 'agent-os', transport: 'nats', role: 'coordinator' });
    const tim = await site.agent('tim', {});
    await site.relay();
    const party = (agentId: string) => ({ agentId, instanceId: agentId });
    const note = {
      id: randomUUID(),
      timestamp: '2026-02-08T15:00:00Z',
      version: '1.0.0',
      from: party('oracle'),
      to: party('all'),
      type: 'event',
      payload: { content: { says: 'rain' } },
    };
    const said = headers();
    said.set('Parley-Broadcast', 'all');
    await jetstream(site.client).publish('parley.default.send', JSON.stringify(note), { headers: said });
    const [read] = await tim.inbox(10);
    assert.deepEqual(read.payload.content, { says: 'rain' });
  });
});
