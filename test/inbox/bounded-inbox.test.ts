import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { assertRefused, settled } from '../http/refusal.ts';
import { messageRouting, mrMessage, type Wire } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';

const start = async (t: Parameters<typeof testParley>[0], registration: object = { inboxLimit: 3 }) => {
  const parley = await testParley(t);
  const sender = await parley.agent('sender', messageRouting);
  const reader = await parley.agent('reader', { ...messageRouting, ...registration });
  const send = async (overrides: Record<string, unknown> = {}): Promise<Wire> => {
    const message = mrMessage('status-update', 'sender', 'reader', overrides);
    const { status, body } = await sender.send(message);
    assert.equal(status, 202, JSON.stringify(body));
    // Eviction is by time of arrival.
    parley.clock.advance(1);
    return message;
  };
  const waiting = async (): Promise<string[]> =>
    (await reader.call('GET', '/v1/inbox?max=100')).body.messages.map(({ msg_id }: Wire) => msg_id);
  const inbox = async () => (await parley.admin.call('GET', '/v1/agents/reader')).body.inboxState;
  const events = async (type: string) => {
    await settled(parley);
    return (await parley.admin.call('GET', `/v1/events?type=${type}`)).body.events;
  };
  return { parley, sender, reader, send, waiting, inbox, events };
};

const blobsIn = (dir: string): string[] =>
  readdirSync(join(dir, 'blobs'), { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [entry.name] : [],
  );

const idsOf = (messages: Wire[]): string[] => messages.map(({ msg_id }) => msg_id);

describe('bounded inbox', () => {
  it('evicts the message that arrived first from a full inbox, whatever its timestamp, and publishes an event', async (t) => {
    const { parley, send, waiting, inbox, events } = await start(t);
    const first = await send({ timestamp: '2026-02-08T19:00:00Z' });
    const rest = [
      await send({ timestamp: '2026-02-08T16:00:00Z' }),
      await send({ timestamp: '2026-02-08T18:00:00Z' }),
      await send({ timestamp: '2026-02-08T17:00:00Z' }),
    ];
    assert.deepEqual(await waiting(), [rest[0]?.msg_id, rest[2]?.msg_id, rest[1]?.msg_id]);
    assert.deepEqual(await inbox(), { depth: 3, evicted: 1 });
    const evicted = await events('message.evicted');
    assert.equal(evicted.length, 1);
    assert.ok(evicted[0].data.messageId.startsWith(first.msg_id.slice(4)));
    assert.ok(parley.logged.includes('warn inbox full, oldest message evicted'));
  });

  it('logs one line a minute for a full inbox, and publishes an event for each eviction', async (t) => {
    const { parley, send, events } = await start(t);
    const lines = () => parley.logged.filter((line) => line.startsWith('warn inbox full')).length;
    for (let n = 0; n < 8; n++) await send();
    assert.deepEqual([lines(), (await events('message.evicted')).length], [1, 5]);
    parley.clock.advance(60_000);
    for (let n = 0; n < 3; n++) await send();
    assert.deepEqual([lines(), (await events('message.evicted')).length], [2, 8]);
  });

  it('logs one line for repeated invalid messages', async (t) => {
    const { parley, sender } = await start(t);
    const refuse = () => sender.send(mrMessage('status-update', 'sender', 'reader', { sequence: -1 }));
    for (let n = 0; n < 5; n++) assertRefused(await refuse(), 400, 'invalid_message');
    const lines = parley.logged.filter((line) => line.includes('message rejected: invalid'));
    assert.equal(lines.length, 1);
  });

  it('frees room in a bounded inbox for each message that is taken or acknowledged', async (t) => {
    const { reader, send, waiting, inbox } = await start(t);
    const [one, two] = [await send(), await send(), await send()];
    assert.equal((await waiting()).length, 3);
    assert.equal((await reader.call('POST', '/v1/inbox/ack', { ids: [two.msg_id, two.msg_id] })).body.acknowledged, 1);
    assert.deepEqual(await inbox(), { depth: 2, evicted: 0 });
    const { body } = await reader.call('GET', '/v1/inbox?max=1&mode=take');
    assert.deepEqual(idsOf(body.messages), [one.msg_id]);
    assert.deepEqual(await inbox(), { depth: 1, evicted: 0 });
    await send();
    await send();
    assert.deepEqual([(await waiting()).length, await inbox()], [3, { depth: 3, evicted: 0 }]);
    assert.equal((await reader.call('GET', '/v1/inbox?mode=take')).body.messages.length, 3);
    assert.deepEqual(await inbox(), { depth: 0, evicted: 0 });
  });

  it('recognizes an evicted or a read message when it is repeated', async (t) => {
    const { sender, reader, send, inbox } = await start(t, { inboxLimit: 1 });
    const evicted = await send();
    const read = await send();
    await reader.inbox();
    await reader.call('POST', '/v1/inbox/ack', { ids: [read.msg_id] });
    for (const message of [evicted, read]) assert.equal((await sender.send(message)).body.duplicate, true);
    assert.deepEqual(await inbox(), { depth: 0, evicted: 1 });
  });

  it('rejects a message to a full inbox that is registered to refuse, until there is room', async (t) => {
    const { parley, sender, reader, send, inbox } = await start(t, { inboxLimit: 1, overflow: 'refuse' });
    const first = await send();
    const second = mrMessage('status-update', 'sender', 'reader');
    const refused = await sender.send(second);
    assertRefused(refused, 429, 'inbox_full');
    assert.equal(refused.headers['retry-after'], '1');
    assert.deepEqual(await inbox(), { depth: 1, evicted: 0 });
    const large = { status: 'blocked', message: 'x'.repeat(9000) };
    assertRefused(
      await sender.send(mrMessage('status-update', 'sender', 'reader', { payload: large })),
      429,
      'inbox_full',
    );
    assert.deepEqual(blobsIn(parley.dir), []);
    assert.equal((await sender.send(first)).body.duplicate, true);
    await reader.call('GET', '/v1/inbox?mode=take');
    assert.equal((await sender.send(second)).status, 202);
  });

  it('limits the inbox of Message Routing agents to 100 and that of others not at all, and counts no tasks', async (t) => {
    const { parley, sender, send, inbox } = await start(t, { inboxLimit: 1 });
    const shown = async (id: string) => (await parley.admin.call('GET', `/v1/agents/${id}`)).body.inboxLimit;
    await parley.agent('other');
    assert.deepEqual([await shown('sender'), await shown('other')], [100, undefined]);
    await send();
    await sender.send(mrMessage('task-delegation', 'sender', 'reader'));
    assert.deepEqual(await inbox(), { depth: 1, evicted: 0 });
  });

  it('removes an expired unread message from the depth of a bounded inbox', async (t) => {
    const { parley, inbox } = await start(t);
    const brain = await parley.agent('brain', { dialect: 'agent-os' });
    const event = {
      id: '8b2f5a0e-0000-4000-8000-000000000001',
      timestamp: '2026-02-08T15:00:00Z',
      version: '1.0.0',
      from: { agentId: 'brain' },
      to: { agentId: 'reader' },
      type: 'event',
      ttl: 10,
      payload: { content: 'soon over' },
    };
    assert.equal((await brain.send(event)).status, 202);
    assert.deepEqual(await inbox(), { depth: 1, evicted: 0 });
    parley.clock.advance(10_001);
    await settled(parley);
    assert.deepEqual(await inbox(), { depth: 0, evicted: 0 });
  });

  it('never exceeds the inbox limit, and evicts one message for each new one, with fifty racing senders', async (t) => {
    const { parley, send, waiting, inbox, events } = await start(t, { inboxLimit: 20 });
    const early = [];
    for (let index = 0; index < 10; index++) early.push(await send());
    const senders = await Promise.all(
      Array.from({ length: 50 }, (_, index) => parley.agent(`sender-${index}`, messageRouting)),
    );
    const replies = await Promise.all(
      senders.map((one) => one.send(mrMessage('status-update', one.id, 'reader', { sequence: 1 }))),
    );
    assert.ok(replies.every(({ status }) => status === 202));
    assert.deepEqual([(await waiting()).length, await inbox()], [20, { depth: 20, evicted: 40 }]);
    const evicted = await events('message.evicted&limit=100');
    assert.equal(evicted.length, 40);
    const gone = evicted.map(({ data }: Wire) => `msg_${data.messageId.slice(0, 8)}`);
    for (const { msg_id } of early) assert.ok(gone.includes(msg_id));
  });
});
