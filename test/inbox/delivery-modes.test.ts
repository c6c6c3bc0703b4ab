import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace, settled } from '../http/refusal.ts';
import { messageRouting, mrMessage, type Wire } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const sender = await parley.agent('sender', { ...messageRouting, role: 'coordinator' });
  const reader = await parley.agent('reader', messageRouting);
  const send = async (overrides: Record<string, unknown> = {}, type = 'status-update'): Promise<Wire> => {
    const message = mrMessage(type, 'sender', 'reader', overrides);
    const { status, body } = await sender.send(message);
    assert.equal(status, 202, JSON.stringify(body));
    return { ...message, taskId: body.taskId };
  };
  const take = async (): Promise<string[]> =>
    (await reader.call('GET', '/v1/inbox?mode=take')).body.messages.map(({ msg_id }: Wire) => msg_id);
  const unacknowledged = async (): Promise<Wire[]> =>
    (await sender.call('GET', '/v1/messages/unacknowledged')).body.messages;
  return { parley, sender, reader, send, take, unacknowledged };
};

describe('inbox delivery', () => {
  it('orders messages by timestamp, then by sequence', async (t) => {
    const { reader, send } = await start(t);
    const at = (seconds: number) => `2026-02-08T15:00:0${seconds}.000Z`;
    const sent = [
      await send({ timestamp: at(3), sequence: 1 }),
      await send({ timestamp: at(1), sequence: 10 }),
      await send({ timestamp: at(1), sequence: 9 }),
      await send({ timestamp: '2026-02-08T18:00:02.000+03:00', sequence: 2 }),
    ];
    const read = (await reader.inbox()).map(({ msg_id }) => msg_id);
    assert.deepEqual(
      read,
      [2, 1, 3, 0].map((index) => sent[index]?.msg_id),
    );
  });

  it('keeps a read message until it is acknowledged, and gives a taken one to one of three racing readers', async (t) => {
    const { reader, send, take } = await start(t);
    const [one, two] = [await send(), await send()];
    assert.equal((await reader.inbox()).length, 2);
    assert.equal((await reader.inbox()).length, 2);
    assert.equal((await reader.call('POST', '/v1/inbox/ack', { ids: [one.msg_id] })).body.acknowledged, 1);
    const taken = (await Promise.all([take(), take(), take()])).flat();
    assert.deepEqual(taken, [two.msg_id]);
    assert.deepEqual(await take(), []);
  });

  it('rejects an acknowledgement with an ambiguous short id, and lists the full ids', async (t) => {
    const { parley, reader, send } = await start(t);
    const other = await parley.agent('other', messageRouting);
    const { msg_id } = await send({ timestamp: '2026-02-08T15:00:00.000Z' });
    await send({ msg_id, timestamp: '2026-02-09T15:00:00.000Z' });
    const { body } = await other.send(mrMessage('status-update', 'other', 'reader', { msg_id }));
    const ack = (...ids: string[]) => reader.call('POST', '/v1/inbox/ack', { ids });
    assert.equal((await reader.inbox()).length, 3);
    for (const ids of [[msg_id], [msg_id, msg_id], [msg_id, body.messageId, 'msg_00000000']]) {
      const refused = await refusedWithoutTrace(parley, 409, 'ambiguous_id', () => ack(...ids));
      assert.equal(refused.body.messages.length, 3);
      const { id } = refused.body.messages.find(({ from }: Wire) => from === 'other');
      assert.equal(id, body.messageId);
    }
    assert.equal((await ack(body.messageId)).body.acknowledged, 1);
    assert.equal((await ack(body.messageId)).body.acknowledged, 0);
    const [, { id: second }] = (await ack(msg_id)).body.messages;
    assert.equal((await ack(msg_id, second)).body.acknowledged, 2);
  });

  it('gives a taken result once', async (t) => {
    const { sender, reader, send } = await start(t);
    const { msg_id } = await send({}, 'task-delegation');
    await reader.send(mrMessage('result', 'reader', 'sender', { correlation_id: msg_id }));
    const [first] = (await sender.call('GET', '/v1/inbox?mode=take')).body.messages;
    assert.deepEqual([first.type, first.correlation_id], ['result', msg_id]);
    assert.deepEqual(await sender.inbox(), []);
  });

  it('returns a message to a waiting reader as soon as it arrives', async (t) => {
    const { reader, send } = await start(t);
    const waiting = reader.inbox(20);
    const { msg_id } = await send();
    assert.deepEqual(
      (await waiting).map((message) => message.msg_id),
      [msg_id],
    );
  });

  it('keeps an unread message without a time limit', async (t) => {
    const { parley, reader, send } = await start(t);
    const { msg_id } = await send();
    parley.clock.advance(100 * 86_400_000);
    await settled(parley);
    assert.deepEqual(
      (await reader.inbox()).map((message) => message.msg_id),
      [msg_id],
    );
  });
});

describe('message that requires an acknowledgement', () => {
  it('shows an unacknowledged message to its sender, and publishes an event after a minute', async (t) => {
    const { parley, sender, reader, send, unacknowledged } = await start(t);
    const { msg_id } = await send({ requires_ack: true });
    await send();
    const [shown] = await unacknowledged();
    assert.deepEqual([shown.shortId, shown.to, shown.state, shown.overdue], [msg_id, 'reader', 'waiting', false]);
    parley.clock.advance(60_001);
    await settled(parley);
    assert.equal((await unacknowledged())[0].overdue, true);
    const { events } = (await parley.admin.call('GET', '/v1/events?type=message.unacknowledged')).body;
    assert.deepEqual(
      events.map(({ data }: Wire) => data.messageId),
      [shown.id],
    );
    await reader.inbox();
    await reader.call('POST', '/v1/inbox/ack', { ids: [msg_id] });
    assert.deepEqual(await unacknowledged(), []);
    const again = await send({ requires_ack: true });
    assert.equal((await sender.send(again)).body.messageId, (await unacknowledged())[0].id);
    const { body } = await sender.call('GET', `/v1/messages/sender/${shown.id}`);
    assert.deepEqual([body.state, body.content.status], ['read', 'in_progress']);
    const short = `/v1/messages/sender/${again.msg_id}`;
    const found = await sender.call('GET', `${short}?timestamp=${again.timestamp}`);
    assert.deepEqual([found.status, found.body.shortId, found.body.state], [200, again.msg_id, 'waiting']);
    assert.equal((await sender.call('GET', `${short}?timestamp=2026-02-08T15:00:00.001Z`)).status, 404);
    assertRefused(await sender.call('GET', short), 400, 'invalid_request');
    assertRefused(await sender.call('GET', `${short}?timestamp=then`), 400, 'invalid_request');
    const stranger = await parley.agent('stranger', messageRouting);
    assert.equal((await stranger.call('GET', `/v1/messages/sender/${shown.id}`)).status, 404);
  });

  it('rejects closing an unacknowledged message like a gap', async (t) => {
    const { parley, reader, send, unacknowledged } = await start(t);
    await send({ requires_ack: true });
    const [shown] = await unacknowledged();
    for (const who of [reader, parley.admin]) {
      assertRefused(await who.call('POST', `/v1/gaps/sender/${shown.id}/close`), 404, 'not_found');
    }
    assert.deepEqual(await unacknowledged(), [shown]);
  });

  it('acknowledges a task by its claim', async (t) => {
    const { parley, reader, send, unacknowledged } = await start(t);
    const { taskId } = await send({ requires_ack: true }, 'task-delegation');
    const late = await send({ requires_ack: true }, 'task-delegation');
    assert.deepEqual(
      (await unacknowledged()).map(({ state, id }) => [state, id]).sort(),
      [
        ['unclaimed', taskId],
        ['unclaimed', late.taskId],
      ].sort(),
    );
    const [{ message }] = await reader.claim();
    parley.clock.advance(60_001);
    await settled(parley);
    const { events } = (await parley.admin.call('GET', '/v1/events?type=task.unacknowledged')).body;
    assert.deepEqual(events.map(({ data }: Wire) => `msg_${data.taskId.slice(0, 8)}`).length, 1);
    assert.notEqual(`msg_${events[0].data.taskId.slice(0, 8)}`, message.msg_id);
    const [left, ...more] = await unacknowledged();
    assert.deepEqual([left.overdue, more], [true, []]);
    await reader.claim();
    assert.deepEqual(await unacknowledged(), []);
    parley.clock.advance(600_000);
    await settled(parley);
    const announced = (await parley.admin.call('GET', '/v1/events?type=task.unacknowledged')).body.events;
    assert.equal(announced.length, 1);
  });
});
