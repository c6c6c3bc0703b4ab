import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace } from '../http/refusal.ts';
import { messageRouting, mrMessage, newMsgId, type Wire } from '../support/message-routing.ts';
import { testParley } from '../support/test-parley.ts';

/** Lancelot may say anything: it gives orders, and holds two tasks of Arthur's. */
const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const arthur = await parley.agent('arthur', messageRouting);
  const lancelot = await parley.agent('lancelot', { ...messageRouting, role: 'coordinator' });
  const galahad = await parley.agent('galahad', messageRouting);
  const tasks = [
    mrMessage('task-delegation', 'arthur', 'lancelot'),
    mrMessage('task-delegation', 'arthur', 'lancelot'),
  ];
  for (const task of tasks) assert.equal((await arthur.send(task)).status, 202);
  assert.equal((await lancelot.claim({ max: 2 })).length, 2);
  const [one, two] = tasks.map(({ msg_id }) => msg_id);
  const identity = { msg_id: newMsgId(), timestamp: '2026-02-08T16:00:00.000Z' };
  const said = (type: string, to: string, more: object = {}): Wire =>
    mrMessage(type, 'lancelot', to, { ...identity, ...more });
  const toMany = { 'parley-broadcast': 'all' };
  const kinds: Record<string, [message: Wire, headers?: Record<string, string>]> = {
    'a delegated task': [said('task-delegation', 'galahad')],
    'a command': [said('command', 'galahad', { payload: { action: 'health_check' } })],
    'a status of its own': [said('status-update', 'galahad')],
    'progress of a task': [said('status-update', 'arthur', { correlation_id: one })],
    'a result': [said('result', 'arthur', { correlation_id: two })],
    'a heartbeat': [said('heartbeat', 'arthur')],
    'a task for all': [said('task-delegation', 'galahad'), toMany],
  };
  const send = (kind: string) => {
    const [message, headers] = kinds[kind] ?? [];
    return lancelot.call('POST', '/v1/messages', message, headers);
  };
  return { parley, arthur, lancelot, galahad, identity, said, kinds, send };
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

describe('what is said under one sender, id and time', () => {
  for (const first of KINDS) {
    it(`is ${first}, and then nothing else`, async (t) => {
      const { parley, send } = await start(t);
      assert.equal((await send(first)).status, 202);
      for (const other of KINDS.filter((kind) => kind !== first)) {
        await refusedWithoutTrace(parley, 409, 'id_reused', () => send(other));
      }
      const again = await send(first);
      assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    });
  }

  it('is accepted once of all that come at the same time', async (t) => {
    const { send } = await start(t);
    const replies = await Promise.all(KINDS.filter((kind) => kind !== 'a heartbeat').map(send));
    const refused = replies.filter(({ status }) => status !== 202);
    assert.equal(refused.length, replies.length - 1);
    for (const reply of refused) assertRefused(reply, 409, 'id_reused');
  });

  it('is free for something else after it was refused', async (t) => {
    const { parley, lancelot, said, send } = await start(t);
    assertRefused(await lancelot.send(said('task-delegation', 'nobody')), 422, 'unknown_agent');
    assertRefused(
      await lancelot.send(said('result', 'arthur', { correlation_id: 'msg_00000000' })),
      404,
      'task_not_found',
    );
    await parley.agent('recluse', { ...messageRouting, inboxLimit: 1, overflow: 'refuse' });
    assert.equal((await lancelot.send(mrMessage('status-update', 'lancelot', 'recluse'))).status, 202);
    assertRefused(await lancelot.send(said('status-update', 'recluse')), 429, 'inbox_full');
    assert.equal((await send('a command')).status, 202);
  });

  it('is not asked for in a batch, of which nothing becomes a task then', async (t) => {
    const { parley, lancelot, kinds, send } = await start(t);
    assert.equal((await send('a command')).status, 202);
    const tasks = [mrMessage('task-delegation', 'lancelot', 'galahad'), kinds['a delegated task']?.[0]];
    const reply = await refusedWithoutTrace(parley, 409, 'id_reused', () =>
      lancelot.call('POST', '/v1/batches', { tasks }),
    );
    assert.deepEqual(
      reply.body.issues.map(({ path }: Wire) => path),
      ['tasks[1]'],
    );
  });

  it('asked for in a batch is nothing else afterwards', async (t) => {
    const { parley, lancelot, kinds, send } = await start(t);
    const tasks = [kinds['a delegated task']?.[0]];
    assert.equal((await lancelot.call('POST', '/v1/batches', { tasks })).status, 202);
    await refusedWithoutTrace(parley, 409, 'id_reused', () => send('a command'));
  });

  it('is accepted when it comes again, though the first time ended half-way', async (t) => {
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
    const arthur = await parley.agent('arthur', messageRouting);
    const lancelot = await parley.agent('lancelot', messageRouting);
    const task = mrMessage('task-delegation', 'arthur', 'lancelot');
    assertRefused(await arthur.send(task), 500, 'internal');
    isDown = false;
    assertRefused(await arthur.send({ ...task, payload: { task: 'Something else' } }), 409, 'id_reused');
    assert.equal((await arthur.send(task)).status, 202);
    assert.deepEqual((await lancelot.claim())[0].message, task);
  });

  it('stays taken where the first time is refused while it is accepted the second time', async (t) => {
    const refusal = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const parley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          get: async (ref) => {
            const found = await ports.records.get(ref);
            // The last that the first one looks at before it is refused.
            if (ref.sk === 'note' && !found) {
              refusal.resolve();
              await held.promise;
            }
            return found;
          },
        },
      }),
    });
    const arthur = await parley.agent('arthur', messageRouting);
    const recluse = await parley.agent('recluse', { ...messageRouting, inboxLimit: 1, overflow: 'refuse' });
    assert.equal((await arthur.send(mrMessage('status-update', 'arthur', 'recluse'))).status, 202);
    const message = mrMessage('status-update', 'arthur', 'recluse');
    const first = arthur.send(message);
    await refusal.promise;
    assert.equal((await recluse.call('GET', '/v1/inbox?mode=take')).body.messages.length, 1);
    assert.equal((await arthur.send(message)).status, 202);
    held.resolve();
    assertRefused(await first, 429, 'inbox_full');
    const other = { ...message, type: 'task-delegation', payload: { task: 'Something else' } };
    assertRefused(await arthur.send(other), 409, 'id_reused');
  });

  it('stays what it was, though it would mean something else by now', async (t) => {
    const { parley, arthur, galahad } = await start(t);
    const update = mrMessage('status-update', 'galahad', 'arthur');
    assert.equal((await galahad.send(update)).status, 202);
    await arthur.send(mrMessage('task-delegation', 'arthur', 'galahad'));
    const [{ message }] = await galahad.claim();
    const again = await galahad.send(update);
    assert.deepEqual([again.status, again.body.duplicate, again.body.taskId], [200, true, undefined]);
    const task = await parley.admin.call('GET', `/v1/tasks/${message.msg_id}`);
    assert.equal(task.body.state, 'claimed');
  });
});
