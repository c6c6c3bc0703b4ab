import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { messageRouting, mrMessage, type Wire } from '../support/message-routing.ts';
import { inboxOf, nextOf, type RelaySite, relaySite } from '../support/relay-site.ts';

const onNats = { ...messageRouting, transport: 'nats' };

const publish = (site: RelaySite, message: object) =>
  jetstream(site.client).publish('parley.default.send', JSON.stringify(message));

const countDeadLetters = async ({ client }: RelaySite) =>
  (await (await jetstreamManager(client)).streams.info('PARLEY_DEAD_LETTERS')).state.messages;

type Inbox = Awaited<ReturnType<typeof inboxOf>>;

const read = async (inbox: Inbox, count: number): Promise<Wire[]> => {
  const messages: Wire[] = [];
  while (messages.length < count) messages.push((await nextOf(inbox)).body);
  return messages;
};

describe('a Message Routing team on NATS that only sends and reads', () => {
  it('does its work, and its coordinator reads every message, without a gap in the sequences', async (t) => {
    const site = await relaySite(t);
    await site.agent('lead', { ...onNats, role: 'coordinator' });
    await site.agent('coder', onNats);
    await site.relay();
    const [leads, coders] = [await inboxOf(site, 'lead'), await inboxOf(site, 'coder')];
    const task = mrMessage('task-delegation', 'lead', 'coder', { sequence: 1 });
    await publish(site, task);
    assert.deepEqual((await nextOf(coders)).body, task);
    const said: [type: string, more?: object][] = [
      ['heartbeat'],
      ['status-update', { correlation_id: task.msg_id }],
      ['heartbeat'],
      ['status-update'],
      ['result', { correlation_id: task.msg_id }],
      // The task is over: what comes now is a message.
      ['result', { correlation_id: task.msg_id, payload: { status: 'partial', next_steps: ['one more'] } }],
    ];
    const sent: Wire[] = [];
    for (const [at, [type, more]] of said.entries()) {
      const timestamp = new Date(Date.now() + at).toISOString();
      const message = mrMessage(type, 'coder', 'lead', { sequence: at + 1, timestamp, ...more });
      sent.push(message);
      await publish(site, message);
    }
    const told = await read(leads, sent.length);
    assert.deepEqual(
      told.toSorted((a, b) => a.timestamp.localeCompare(b.timestamp)),
      sent,
    );
    assert.equal((await site.admin.call('GET', `/v1/tasks/${task.msg_id}`)).body.state, 'completed');
    assert.equal(await countDeadLetters(site), 0);
  });

  it('with the profile cfn writes and reads on NATS as its bus does', async (t) => {
    const site = await relaySite(t);
    await site.agent('lead', { ...onNats, profile: 'cfn', role: 'coordinator' });
    await site.agent('worker-1', { ...onNats, profile: 'cfn' });
    await site.relay();
    const [leads, workers] = [await inboxOf(site, 'lead'), await inboxOf(site, 'worker-1')];
    const bus = (type: string, from: string, to: string, sequence: number, payload: object, more: object = {}) => ({
      version: '1.1',
      msg_id: `msg-1770562800-${sequence}`,
      from,
      to,
      timestamp: 1_770_562_800,
      sequence,
      type,
      payload,
      requires_ack: false,
      ...more,
    });
    const ready = bus('agent:ready', 'worker-1', 'lead', 1, { worker_id: 1, msg_num: 2 });
    await publish(site, ready);
    assert.deepEqual((await nextOf(leads)).body, ready);
    const task = bus('task-delegation', 'lead', 'worker-1', 2, { task: 'Audit the login' });
    await publish(site, task);
    const given = (await nextOf(workers)).body;
    assert.deepEqual({ ...given, ...task }, given);
    const done = bus('result', 'worker-1', 'lead', 3, { status: 'success' }, { correlation_id: task.msg_id });
    await publish(site, done);
    assert.deepEqual((await nextOf(leads)).body, done);
    assert.equal(await countDeadLetters(site), 0);
  });
});
