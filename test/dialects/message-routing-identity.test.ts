import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace } from '../http/refusal.ts';
import { messageRouting, mrMessage, newMsgId, type Wire } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';

/** The sender is a coordinator and holds two tasks of the requester. */
const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const requester = await parley.agent('requester', messageRouting);
  const sender = await parley.agent('sender', { ...messageRouting, role: 'coordinator' });
  const recipient = await parley.agent('recipient', messageRouting);
  const tasks = [
    mrMessage('task-delegation', 'requester', 'sender'),
    mrMessage('task-delegation', 'requester', 'sender'),
  ];
  for (const task of tasks) assert.equal((await requester.send(task)).status, 202);
  assert.equal((await sender.claim({ max: 2 })).length, 2);
  const [one, two] = tasks.map(({ msg_id }) => msg_id);
  const identity = { msg_id: newMsgId(), timestamp: '2026-02-08T16:00:00.000Z' };
  const said = (type: string, to: string, more: object = {}): Wire =>
    mrMessage(type, 'sender', to, { ...identity, ...more });
  const toMany = { 'parley-broadcast': 'all' };
  const kinds: Record<string, [message: Wire, headers?: Record<string, string>]> = {
    'a delegated task': [said('task-delegation', 'recipient')],
    'a command': [said('command', 'recipient', { payload: { action: 'health_check' } })],
    'a status of its own': [said('status-update', 'recipient')],
    'progress of a task': [said('status-update', 'requester', { correlation_id: one })],
    'a result': [said('result', 'requester', { correlation_id: two })],
    'a heartbeat': [said('heartbeat', 'requester')],
    'a task for all': [said('task-delegation', 'recipient'), toMany],
  };
  const send = (kind: string) => {
    const [message, headers] = kinds[kind] ?? [];
    return sender.call('POST', '/v1/messages', message, headers);
  };
  return { parley, requester, sender, recipient, identity, said, kinds, send };
};

const KINDS = [
  'a delegated task',
  'a command',
  'a status of its own',
  'progress of a task',
  'a result',
  'a heartbeat',
  'a task for all',
];

describe('Message Routing message identity', () => {
  for (const first of KINDS) {
    it(`accepts ${first} under an id and time, and then rejects any other message under them`, async (t) => {
      const { parley, send } = await start(t);
      assert.equal((await send(first)).status, 202);
      for (const other of KINDS.filter((kind) => kind !== first)) {
        await refusedWithoutTrace(parley, 409, 'id_reused', () => send(other));
      }
      const again = await send(first);
      assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    });
  }

  it('accepts one of several concurrent messages under the same id and time', async (t) => {
    const { send } = await start(t);
    const replies = await Promise.all(KINDS.filter((kind) => kind !== 'a heartbeat').map(send));
    const refused = replies.filter(({ status }) => status !== 202);
    assert.equal(refused.length, replies.length - 1);
    for (const reply of refused) assertRefused(reply, 409, 'id_reused');
  });

  it('accepts another message under the id of a rejected one', async (t) => {
    const { parley, sender, said, send } = await start(t);
    assertRefused(await sender.send(said('task-delegation', 'nobody')), 422, 'unknown_agent');
    assertRefused(
      await sender.send(said('result', 'nobody', { correlation_id: 'msg_00000000' })),
      422,
      'unknown_agent',
    );
    await parley.agent('recluse', { ...messageRouting, inboxLimit: 1, overflow: 'refuse' });
    assert.equal((await sender.send(mrMessage('status-update', 'sender', 'recluse'))).status, 202);
    assertRefused(await sender.send(said('status-update', 'recluse')), 429, 'inbox_full');
    assert.equal((await send('a command')).status, 202);
  });

  it('rejects a batch with a task under the id of an earlier message, and creates no task', async (t) => {
    const { parley, sender, kinds, send } = await start(t);
    assert.equal((await send('a command')).status, 202);
    const tasks = [mrMessage('task-delegation', 'sender', 'recipient'), kinds['a delegated task']?.[0]];
    const reply = await refusedWithoutTrace(parley, 409, 'id_reused', () =>
      sender.call('POST', '/v1/batches', { tasks }),
    );
    assert.deepEqual(
      reply.body.issues.map(({ path }: Wire) => path),
      ['tasks[1]'],
    );
  });

  it('rejects a message under the id of a task of a batch', async (t) => {
    const { parley, sender, kinds, send } = await start(t);
    const tasks = [kinds['a delegated task']?.[0]];
    assert.equal((await sender.call('POST', '/v1/batches', { tasks })).status, 202);
    await refusedWithoutTrace(parley, 409, 'id_reused', () => send('a command'));
  });

  it('accepts a repeated message whose first execution failed half-way', async (t) => {
    let isDown = true;
    const parley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          create: async (item, token) => {
            if (item.sk === 'task' && isDown) throw new Error('the disk is gone');
            return ports.records.create(item, token);
          },
        },
      }),
    });
    const requester = await parley.agent('requester', messageRouting);
    const sender = await parley.agent('sender', messageRouting);
    const task = mrMessage('task-delegation', 'requester', 'sender');
    assertRefused(await requester.send(task), 500, 'internal');
    isDown = false;
    assertRefused(await requester.send({ ...task, payload: { task: 'Something else' } }), 409, 'id_reused');
    assert.equal((await requester.send(task)).status, 202);
    assert.deepEqual((await sender.claim())[0].message, task);
  });

  it('keeps an id taken if its first message is rejected while its repetition is accepted', async (t) => {
    const refusal = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const parley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          get: async (ref) => {
            const found = await ports.records.get(ref);
            // The last read of the first message before its rejection.
            if (ref.sk === 'direct-message' && !found) {
              refusal.resolve();
              await held.promise;
            }
            return found;
          },
        },
      }),
    });
    const requester = await parley.agent('requester', messageRouting);
    const recluse = await parley.agent('recluse', { ...messageRouting, inboxLimit: 1, overflow: 'refuse' });
    assert.equal((await requester.send(mrMessage('status-update', 'requester', 'recluse'))).status, 202);
    const message = mrMessage('status-update', 'requester', 'recluse');
    const first = requester.send(message);
    await refusal.promise;
    assert.equal((await recluse.call('GET', '/v1/inbox?mode=take')).body.messages.length, 1);
    assert.equal((await requester.send(message)).status, 202);
    held.resolve();
    assertRefused(await first, 429, 'inbox_full');
    const other = { ...message, type: 'task-delegation', payload: { task: 'Something else' } };
    assertRefused(await requester.send(other), 409, 'id_reused');
  });

  it('recognizes a repeated status update that would be about a task by now', async (t) => {
    const { parley, requester, recipient } = await start(t);
    const update = mrMessage('status-update', 'recipient', 'requester');
    assert.equal((await recipient.send(update)).status, 202);
    await requester.send(mrMessage('task-delegation', 'requester', 'recipient'));
    const [{ message }] = await recipient.claim();
    const again = await recipient.send(update);
    assert.deepEqual([again.status, again.body.duplicate, again.body.taskId], [200, true, undefined]);
    const task = await parley.admin.call('GET', `/v1/tasks/${message.msg_id}`);
    assert.equal(task.body.state, 'claimed');
  });
});
