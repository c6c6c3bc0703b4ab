import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { eventually } from '../support/eventually.ts';
import { groundAgent } from '../support/ground.ts';
import { consumerOf, nextOf, relaySite } from '../support/relay-site.ts';
import { testParley } from '../support/test-parley.ts';

const PLACE = 'cg.v1r3.default.public.cmd.user.alice.message';

describe('a message to a user', () => {
  it('stands in the inbox of the agent of that user, as it was sent', async (t) => {
    const parley = await testParley(t);
    const [alice, helper] = [await groundAgent(parley, 'alice'), await groundAgent(parley, 'helper')];
    const message = { subject: PLACE, headers: { 'X-Own': 'kept' }, payload: { message_id: 'm1', text: 'Done.' } };
    assert.equal((await helper.send(message)).status, 202);
    const again = await helper.send(message);
    assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    const [read, ...more] = await alice.inbox();
    assert.deepEqual([read.subject, read.payload, more], [PLACE, message.payload, []]);
    const { 'X-Own': own, 'CG-Sender': sender, 'CG-Msg-Type': type } = read.headers;
    assert.deepEqual([own, sender, type], ['kept', 'helper', 'cmd.user.message']);
  });

  it('needs no id: its words and its time tell it from others', async (t) => {
    const parley = await testParley(t);
    const [alice, helper] = [await groundAgent(parley, 'alice'), await groundAgent(parley, 'helper')];
    const say = (at: string) =>
      helper.send({ subject: PLACE, headers: { 'CG-Timestamp': at }, payload: { text: 'Done.' } });
    const replies = [await say('1794872295903'), await say('1794872295903'), await say('1794872295904')];
    assert.deepEqual(
      replies.map(({ status }) => status),
      [202, 200, 202],
    );
    assert.equal((await alice.inbox()).length, 2);
  });

  it('is rejected for a user without an agent, and on a channel that its agent may not use', async (t) => {
    const parley = await testParley(t);
    const helper = await groundAgent(parley, 'helper', { channels: ['public', 't_x'] });
    const send = async (place: string) => (await helper.send({ subject: place, payload: { text: 'Done.' } })).body.code;
    assert.equal(await send(PLACE), 'unknown_agent');
    await groundAgent(parley, 'alice');
    assert.equal(await send(PLACE.replace('public', 't_x')), 'channel_forbidden');
    assert.equal(await send(PLACE.replace('public', 't_other')), 'channel_forbidden');
  });

  it('is published once on its subject for an agent on NATS, wherever it came from', async (t) => {
    const site = await relaySite(t);
    await groundAgent(site, 'alice', { transport: 'nats' });
    const helper = await groundAgent(site, 'helper', { transport: 'nats' });
    const relay = await site.relay();
    const read = await consumerOf(site.client, 'cg_cmd_v1r3', { durable_name: 'alice', filter_subject: PLACE });
    const said = headers();
    said.set('CG-Sender', 'helper');
    await jetstream(site.client).publish(PLACE, JSON.stringify({ text: 'from NATS' }), { headers: said });
    await eventually(() => assert.ok(relay.metrics.getCount('ingress', 'messages') > 0));
    assert.equal((await helper.send({ subject: PLACE, payload: { text: 'over HTTP' } })).status, 202);
    assert.deepEqual([(await nextOf(read)).body.text, (await nextOf(read)).body.text], ['from NATS', 'over HTTP']);
    const { state } = await (await jetstreamManager(site.client)).streams.info('cg_cmd_v1r3', {
      subjects_filter: PLACE,
    });
    assert.equal(state.subjects?.[PLACE], 2);
  });
});
