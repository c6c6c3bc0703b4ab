import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { toCanonicalId } from '../../shared/kernel/ids.ts';
import { type DirectMessage, directMessageRef } from '../../shared/model/direct-message.ts';
import { assertRefused, refusedWithoutTrace, settled } from '../http/refusal.ts';
import { type AgentOsAgent, agentOsAgent, content } from '../support/agent-os-agent.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  return { parley, scout: await agentOsAgent(parley, 'scout'), monitor: await agentOsAgent(parley, 'monitor') };
};

const idsIn = async (agent: AgentOsAgent): Promise<string[]> => (await agent.inbox()).map(({ id }) => id);

describe('direct message', () => {
  for (const type of ['event', 'evidence', 'gap']) {
    it(`keeps a direct message unchanged in the inbox of its recipient until it is acknowledged: ${type}`, async (t) => {
      const { parley, scout, monitor } = await start(t);
      const message = await scout.say(type, 'monitor', { payload: content({ priority: 'medium', found: ['a'] }) });
      assert.deepEqual(await monitor.inbox(), [message]);
      assert.deepEqual(await monitor.inbox(), [message]);
      await parley.restart();
      assert.deepEqual(await monitor.inbox(), [message]);
      assert.equal(await monitor.ack(message.id), 1);
      assert.equal(await monitor.ack(message.id), 0);
      await parley.restart();
      assert.deepEqual(await monitor.inbox(), []);
      assert.deepEqual(await scout.inbox(), []);
    });
  }

  it('returns a direct message to a waiting reader as soon as it arrives', async (t) => {
    const { scout, monitor } = await start(t);
    const inbox = monitor.inbox(20);
    const { id } = await scout.say('event', 'monitor');
    assert.equal((await inbox)[0].id, id);
  });

  it('accepts a repeated message once, also after it was read, and rejects other content under its id', async (t) => {
    const { parley, scout, monitor } = await start(t);
    const message = await scout.say('event', 'monitor');
    await monitor.ack(message.id);
    const again = await scout.send(message);
    assert.deepEqual([again.status, again.body.duplicate, again.body.id], [200, true, message.id]);
    await refusedWithoutTrace(parley, 409, 'id_reused', () => scout.send({ ...message, payload: content('other') }));
    assert.deepEqual(await monitor.inbox(), []);
  });

  it('keeps the messages of two senders with the same id apart', async (t) => {
    const { parley, scout, monitor } = await start(t);
    const other = await agentOsAgent(parley, 'other');
    const id = randomUUID();
    await scout.say('event', 'monitor', { id });
    await other.say('event', 'monitor', { id });
    assert.deepEqual((await monitor.inbox()).map(({ from }) => from.agentId).sort(), ['other', 'scout']);
    assert.equal(await monitor.ack(id), 1);
    assert.equal(await monitor.ack(id), 1);
  });

  it('removes an expired message from the inbox to the second, and knows its id for a week', async (t) => {
    const { parley, scout, monitor } = await start(t);
    const message = await scout.say('event', 'monitor', { ttl: 30 });
    const later = await scout.say('event', 'monitor', { ttl: 60 });
    parley.clock.advance(29_999);
    assert.equal((await monitor.inbox()).length, 2);
    parley.clock.advance(1);
    assert.deepEqual(await idsIn(monitor), [later.id]);
    assert.equal((await monitor.call('GET', '/v1/inbox?max=1')).body.messages[0].id, later.id);
    await settled(parley);
    const { events } = (await parley.admin.call('GET', '/v1/events?type=message.expired')).body;
    assert.equal(events.length, 1);
    parley.clock.advance(6 * 86_400_000);
    assert.equal((await scout.send(message)).body.duplicate, true);
    assert.deepEqual(await monitor.inbox(), []);
  });

  it('hides an expired message although its timer is late', async (t) => {
    const parley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          update: (ref, change, ...rest) =>
            ref.sk === 'direct-message' && change.set === undefined
              ? Promise.resolve({ outcome: 'refused' })
              : ports.records.update(ref, change, ...rest),
        },
      }),
    });
    const [scout, monitor] = [await agentOsAgent(parley, 'scout'), await agentOsAgent(parley, 'monitor')];
    for (let times = 0; times < 3; times++) await scout.say('event', 'monitor', { ttl: 30 });
    parley.clock.advance(30_000);
    assert.deepEqual(await monitor.inbox(), []);
    const { id } = await scout.say('event', 'monitor', { ttl: 30 });
    assert.equal((await monitor.call('GET', '/v1/inbox?max=1')).body.messages[0].id, id);
  });

  it('publishes the sending and the reading of a message to its sender and recipient only', async (t) => {
    const { parley, scout, monitor } = await start(t);
    const other = await agentOsAgent(parley, 'other');
    const message = await scout.say('gap', 'monitor', { priority: 'high' });
    parley.clock.advance(5000);
    await monitor.ack(message.id);
    await settled(parley);
    for (const agent of [scout, monitor]) {
      const { events } = (await agent.call('GET', '/v1/events?type=message.sent,message.read')).body;
      assert.deepEqual(
        events.map(({ type }: { type: string }) => type),
        ['message.sent', 'message.read'],
      );
      const { messageId, type, from, to, priority } = events[0].data;
      assert.deepEqual(
        [`msg-${messageId}`, type, from, to, priority],
        [message.id, 'agent-os.gap', 'scout', 'monitor', 'high'],
      );
      assert.equal(events[1].data.waitedMs, 5000);
    }
    assert.deepEqual((await other.call('GET', '/v1/events?type=message.sent')).body.events, []);
  });

  it('rejects a direct message to an unknown agent', async (t) => {
    const { parley, scout } = await start(t);
    await refusedWithoutTrace(parley, 422, 'unknown_agent', () => scout.send(scout.message('event', 'nobody')));
  });

  it('recognizes a repeated message whose recipient is removed', async (t) => {
    const { parley, scout } = await start(t);
    const message = await scout.say('event', 'monitor');
    await parley.admin.call('DELETE', '/v1/agents/monitor');
    assert.equal((await scout.send(message)).body.duplicate, true);
  });

  it('stores a large message in a blob, and deletes the blob with it', async (t) => {
    const { parley, scout, monitor } = await start(t);
    const message = await scout.say('evidence', 'monitor', { payload: content('x'.repeat(100_000)) });
    assert.deepEqual(await monitor.inbox(), [message]);
    const [note] = await parley.parley.deps.records.query<DirectMessage>({
      pk: directMessageRef('default', 'scout', toCanonicalId(message.id)).pk,
      limit: 1,
    });
    assert.ok(note && 'blob' in note.content);
    const { blob } = note.content;
    assert.ok(await parley.parley.deps.blobs.get(blob));
    parley.clock.advance(8 * 86_400_000);
    await eventually(async () => assert.equal(await parley.parley.deps.blobs.get(blob), undefined));
    const tooLarge = await scout.send(
      scout.message('evidence', 'monitor', { payload: content('x'.repeat(1_100_000)) }),
    );
    assertRefused(tooLarge, 413, 'too_large');
  });

  it('delivers every field of a direct message to an agent of another dialect', async (t) => {
    const { parley, scout } = await start(t);
    const reader = await parley.agent('reader');
    const message = await scout.say('gap', 'reader', {
      payload: content({ gapType: 'missing_data' }),
      priority: 'low',
    });
    const [told] = await reader.inbox();
    assert.deepEqual(
      [told.type, told.from, told.to, told.priority, told.ttl, told.payload],
      ['message', 'scout', 'reader', 'low', 600, { type: 'agent-os.gap', content: { gapType: 'missing_data' } }],
    );
    const carried = told.parley['agent-os'];
    assert.deepEqual(
      [carried.id, carried.context, carried.evidence, carried.from],
      [message.id, message.context, message.evidence, message.from],
    );
    assert.equal((await reader.call('POST', '/v1/inbox/ack', { ids: [told.id] })).body.acknowledged, 1);
  });
});
