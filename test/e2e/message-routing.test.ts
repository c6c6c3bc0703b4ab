import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { messageRouting, mrMessage, type Wire } from '../support/message-routing.ts';
import { tfRequest } from '../support/task-format.ts';
import { deployment } from './deployment.ts';

const { admin, agent } = await deployment();

const speaker = (name: string, registration: object = {}): Promise<TestAgent> =>
  agent(name, { ...messageRouting, ...registration });

const sent = async (from: TestAgent, to: TestAgent, type: string, overrides: Record<string, unknown> = {}) => {
  const message = mrMessage(type, from.id, to.id, overrides);
  const { status, body } = await from.send(message);
  assert.equal(status, 202, JSON.stringify(body));
  return message;
};

describe('agents that speak message routing', () => {
  it('delegate, report, finish and acknowledge by eight digits', async () => {
    const [coordinator, expert] = [await speaker('coordinator', { inbox: 'ends' }), await speaker('expert')];
    const payload = {
      task: 'Make the router faster',
      context: { files: ['/src/router.ts'], dependencies: [], deadline: '2025-10-06T18:00:00.000Z' },
      metadata: { original_requester: coordinator.id, delegation_reason: 'Knows about speed' },
    };
    const asked = await sent(coordinator, expert, 'task-delegation', {
      timestamp: '2025-10-06T16:00:00.000Z',
      requires_ack: true,
      priority: 8,
      payload,
    });
    const unacknowledged = async () =>
      (await coordinator.call('GET', '/v1/messages/unacknowledged')).body.messages.map((one: Wire) => one.shortId);
    await eventually(async () => assert.deepEqual(await unacknowledged(), [asked.msg_id]));
    const [task] = await expert.claim({ wait: 10 });
    assert.deepEqual(task.message, asked);
    await eventually(async () => assert.deepEqual(await unacknowledged(), []));
    const blocked = { status: 'blocked', progress: 0.65, message: 'waiting', blockers: ['a key'] };
    const question = await sent(expert, coordinator, 'status-update', {
      correlation_id: asked.msg_id,
      payload: blocked,
    });
    assert.deepEqual((await coordinator.task(asked.msg_id)).progress.blockers, ['a key']);
    const result = await sent(expert, coordinator, 'result', {
      correlation_id: asked.msg_id,
      payload: { status: 'success', metrics: { confidence: 0.92, test_coverage: 0.95, duration_ms: 5_400_000 } },
    });
    await eventually(async () => assert.deepEqual(await coordinator.inbox(10), [question, result]));
    const { acknowledged } = (await coordinator.call('POST', '/v1/inbox/ack', { ids: [result.msg_id] })).body;
    assert.equal(acknowledged, 1);
  });

  it('do their work by nothing but messages, and their coordinator reads them in order, without a gap', async () => {
    const [coordinator, expert] = [await speaker('coordinator'), await speaker('expert')];
    const now = Date.now();
    const at = (seconds: number) => ({ timestamp: new Date(now + seconds * 1000).toISOString() });
    const asked = await sent(coordinator, expert, 'task-delegation', { ...at(0), sequence: 1 });
    const [given] = await expert.inbox(10);
    assert.deepEqual(given, asked);
    assert.deepEqual(await expert.inbox(), [asked]);
    const said: Wire[] = [];
    const correlation_id = asked.msg_id;
    for (const [type, more] of [
      ['status-update', { correlation_id }],
      ['heartbeat', {}],
      ['status-update', { correlation_id }],
      ['heartbeat', {}],
      ['result', { correlation_id }],
    ] as const) {
      const sequence = said.length + 1;
      said.push(await sent(expert, coordinator, type, { ...at(sequence), sequence, ...more }));
    }
    await eventually(async () => {
      const read = (await coordinator.call('GET', '/v1/inbox?max=100')).body.messages;
      assert.deepEqual(
        read.filter(({ from }: Wire) => from === expert.id),
        said,
      );
      assert.deepEqual(
        read.filter(({ from }: Wire) => from !== expert.id).map(({ from, type }: Wire) => [from, type]),
        [['parley', 'status-update']],
      );
    });
    assert.equal((await expert.call('POST', '/v1/inbox/ack', { ids: [asked.msg_id] })).body.acknowledged, 1);
    await eventually(async () => assert.deepEqual(await expert.inbox(), []));
    assert.equal((await coordinator.task(asked.msg_id)).state, 'completed');
  });

  it('are each given one of the tasks for them, however many of their processes read at once', async () => {
    const [coordinator, expert] = [await speaker('coordinator'), await speaker('expert')];
    const ids: string[] = [];
    for (let index = 0; index < 6; index++) ids.push((await sent(coordinator, expert, 'task-delegation')).msg_id);
    const taken: string[] = [];
    const take = async () => (await expert.call('GET', '/v1/inbox?mode=take&max=2')).body.messages;
    await eventually(async () => {
      const read: Wire[] = (await Promise.all([take(), take(), take(), take()])).flat();
      taken.push(...read.map(({ msg_id }) => msg_id));
      assert.equal(taken.length, 6);
    });
    assert.deepEqual(taken.toSorted(), ids.toSorted());
  });

  it('acknowledge what they mean, though others have the same eight digits', async () => {
    const [coder, tester, reader] = [await speaker('coder'), await speaker('tester'), await speaker('reader')];
    const { msg_id } = await sent(coder, reader, 'status-update');
    const other = mrMessage('status-update', tester.id, reader.id, { msg_id });
    const { messageId } = (await tester.send(other)).body;
    const ack = (...ids: string[]) => reader.call('POST', '/v1/inbox/ack', { ids });
    await eventually(async () => assert.equal((await reader.inbox()).length, 2));
    assert.equal((await ack(msg_id)).body.code, 'ambiguous_id');
    assert.equal((await ack(messageId)).body.acknowledged, 1);
    await eventually(async () => assert.equal((await ack(msg_id)).body.acknowledged, 1));
  });

  it('say one thing under an id and a time, whatever kind of message it is', async () => {
    const [coordinator, coder] = [await speaker('coordinator', { role: 'coordinator' }), await speaker('coder')];
    const asked = await sent(coordinator, coder, 'task-delegation');
    const { msg_id } = asked;
    for (const type of ['command', 'status-update', 'heartbeat']) {
      const { status, body } = await coordinator.send(mrMessage(type, coordinator.id, coder.id, { msg_id }));
      assert.deepEqual([status, body.code], [409, 'id_reused'], type);
    }
    const again = await coordinator.send(asked);
    assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    const refused = mrMessage('task-delegation', coordinator.id, `${coder.id}-not`);
    assert.equal((await coordinator.send(refused)).status, 422);
    await sent(coordinator, coder, 'status-update', { msg_id: refused.msg_id });
  });

  it('work for agents of other dialects', async () => {
    const [cook, coder] = [await agent('cook', { dialect: 'task-format' }), await speaker('coder')];
    const request = tfRequest({ routing: { target: coder.id } });
    assert.equal((await cook.send(request)).status, 202);
    const [{ message }] = await coder.claim({ wait: 10 });
    await sent(coder, cook, 'result', { correlation_id: message.msg_id, payload: { status: 'partial' } });
    const [response] = await cook.inbox(10);
    assert.deepEqual([response.id, response.status, response.result], [request.id, 'completed', { status: 'partial' }]);
  });

  it('read what is too large for their messages as a card, the same each time', async () => {
    const coordinator = await speaker('coordinator', { inbox: 'ends' });
    const cook = await agent('cook', { dialect: 'task-format' });
    await sent(coordinator, cook, 'task-delegation');
    const [{ message }] = await cook.claim({ wait: 10 });
    const content = `${'The wall holds. '.repeat(1000)}${cook.id}`;
    assert.equal((await cook.send({ id: message.id, status: 'completed', result: { content } })).status, 202);
    const [first] = await coordinator.inbox(10);
    const { uri } = first.payload.parley.output;
    assert.equal((await coordinator.call('GET', uri)).body.content.content, content);
    assert.deepEqual(await coordinator.inbox(10), [first]);
  });

  it('read their inboxes in order, and take what nobody else then gets', async () => {
    const [sender, reader] = [await speaker('sender'), await speaker('reader')];
    const late = await sent(sender, reader, 'status-update', { timestamp: '2026-02-08T16:00:00Z', sequence: 1 });
    const early = await sent(sender, reader, 'status-update', { timestamp: '2026-02-08T15:00:00Z', sequence: 2 });
    await eventually(async () => assert.deepEqual(await reader.inbox(), [early, late]));
    const take = async () => (await reader.call('GET', '/v1/inbox?mode=take&max=1')).body.messages;
    const taken: Wire[] = [];
    await eventually(async () => {
      taken.push(...(await Promise.all([take(), take(), take()])).flat());
      assert.equal(taken.length, 2);
    });
    assert.deepEqual(new Set(taken.map(({ msg_id }) => msg_id)), new Set([early.msg_id, late.msg_id]));
    await eventually(async () => assert.deepEqual(await reader.inbox(), []));
  });

  it('learn what is missing between two of them, and the next number', async () => {
    const [sender, reader] = [await speaker('sender'), await speaker('reader')];
    for (const sequence of [1, 4, 1]) await sent(sender, reader, 'status-update', { sequence });
    const { body } = await reader.call('GET', `/v1/agents/${sender.id}/sequence?to=${reader.id}`);
    assert.deepEqual([body.next, body.gaps, body.resets], [2, 1, 1]);
    await eventually(async () => {
      const types: string[] = [];
      for (const type of ['sequence.gap', 'sequence.reset']) {
        const { events } = (await admin.call('GET', `/v1/events?type=${type}&limit=100`)).body;
        types.push(...events.filter(({ data }: Wire) => data.from === sender.id).map((event: Wire) => event.type));
      }
      assert.deepEqual(types, ['sequence.gap', 'sequence.reset']);
    });
    const version = await reader.call('GET', `/v1/agents/${sender.id}/version?with=${reader.id}`);
    assert.equal(version.body.version, '1.0.0');
  });

  it('never have more in an inbox than its limit, with many senders at once', { timeout: 120_000 }, async () => {
    const reader = await speaker('reader', { inboxLimit: 5 });
    const senders: TestAgent[] = [];
    for (let index = 0; index < 8; index++) senders.push(await speaker(`sender-${index}`));
    const send = async (one: TestAgent): Promise<void> => {
      const message = mrMessage('status-update', one.id, reader.id, { sequence: 1 });
      // Where too many are in each other's way, the sender is asked to try again.
      for (let attempt = 0; attempt < 30; attempt++) {
        const { status, body } = await one.send(message);
        if (status === 202 || status === 200) return;
        assert.equal(status, 503, JSON.stringify(body));
      }
      assert.fail('it could not be sent');
    };
    await Promise.all(senders.map(send));
    await eventually(async () => {
      assert.equal((await reader.call('GET', '/v1/inbox?max=100')).body.messages.length, 5);
      const { inboxState } = (await admin.call('GET', `/v1/agents/${reader.id}`)).body;
      assert.deepEqual(inboxState, { depth: 5, evicted: 3 });
    });
    const { body } = await reader.call('GET', '/v1/inbox?mode=take&max=100');
    assert.equal(body.messages.length, 5);
    assert.equal((await admin.call('GET', `/v1/agents/${reader.id}`)).body.inboxState.depth, 0);
  });

  it('obey a coordinator, and tell how they are', async () => {
    const [coordinator, tester] = [await speaker('coordinator', { role: 'coordinator' }), await speaker('tester')];
    await sent(tester, coordinator, 'heartbeat', { payload: { health: 'degraded', metrics: { cpu_usage: 0.9 } } });
    await eventually(async () => {
      const { health } = (await admin.call('GET', `/v1/agents/${tester.id}`)).body;
      assert.deepEqual([health.status, health.cpuUsage], ['degraded', 0.9]);
    });
    await sent(coordinator, tester, 'command', { payload: { action: 'pause', parameters: { reason: 'a fix' } } });
    const claims = async () => (await tester.call('POST', '/v1/claims', {})).body;
    await eventually(async () => assert.equal((await claims()).paused?.reason, 'a fix'));
    await sent(coordinator, tester, 'task-delegation');
    assert.deepEqual((await claims()).tasks, []);
    await sent(coordinator, tester, 'command', { payload: { action: 'resume' } });
    await eventually(async () => assert.equal((await claims()).tasks.length, 1));
  });

  it('are spoken to all at once by a coordinator', async () => {
    const coordinator = await speaker('coordinator', { role: 'coordinator' });
    const capability = `listens_to_${coordinator.id}`;
    const listeners = [
      await speaker('one', { capabilities: [capability] }),
      await speaker('two', { capabilities: [capability] }),
    ];
    const message = mrMessage('status-update', coordinator.id, 'all');
    const header = { 'parley-broadcast': `capability:${capability}` };
    const { status, body } = await coordinator.call('POST', '/v1/messages', message, header);
    assert.equal(status, 202, JSON.stringify(body));
    await eventually(async () => {
      const { delivered: reached, isDone } = (await coordinator.call('GET', `/v1/broadcasts/${body.broadcastId}`)).body;
      assert.deepEqual([reached, isDone], [2, true]);
    });
    for (const listener of listeners) {
      const [read] = await listener.inbox(10);
      assert.deepEqual([read.msg_id, read.to], [message.msg_id, listener.id]);
    }
  });
});
