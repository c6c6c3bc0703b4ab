import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace } from '../http/refusal.ts';
import { kitchen, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const signal = (overrides: object = {}) => ({
  signalId: randomUUID() as string,
  from: 'cook',
  to: 'orchestrator',
  type: 'handoff_suggestion',
  payload: { suggestedAgent: 'calendar', reason: 'The menu needs a date.' },
  timestamp: '2026-02-08T10:30:00Z',
  ...overrides,
});

describe('Task Format signal', () => {
  const TYPES = ['handoff_suggestion', 'task_complete', 'blocked', 'error', 'escalate', 'of_another_kind'];
  it('delivers a signal of any type as its sender wrote it', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    for (const type of TYPES) {
      const message = signal({ type, urgent: true });
      const reply = await cook.send(message);
      assert.deepEqual([reply.status, reply.body.dialect, reply.body.id], [202, 'task-format', message.signalId]);
      assert.deepEqual(await orchestrator.inbox(), [message]);
      const ack = await orchestrator.call('POST', '/v1/inbox/ack', { ids: [message.signalId] });
      assert.equal(ack.body.acknowledged, 1);
    }
    assert.deepEqual(await orchestrator.claim(), []);
  });

  it('accepts a signal that says neither its sender nor a payload', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const { signalId } = signal();
    assert.equal((await cook.send({ signalId, to: 'orchestrator', type: 'blocked' })).status, 202);
    const [{ from, payload, timestamp }] = await orchestrator.inbox();
    assert.deepEqual([from, payload], ['cook', {}]);
    assert.ok(Date.parse(timestamp));
  });

  it('accepts a repeated signal once, and rejects another one under its id', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook } = await kitchen(parley);
    const message = signal();
    assert.deepEqual([(await cook.send(message)).status, (await cook.send(message)).status], [202, 200]);
    await refusedWithoutTrace(parley, 409, 'id_reused', () => cook.send({ ...message, payload: {} }));
    assert.equal((await orchestrator.inbox()).length, 1);
  });

  it('rejects a signal in the name of another agent, to nobody, or under an id that Parley derives', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook } = await kitchen(parley);
    await refusedWithoutTrace(parley, 403, 'from_mismatch', () => cook.send(signal({ from: 'orchestrator' })));
    const lost = await refusedWithoutTrace(parley, 422, 'unknown_agent', () => cook.send(signal({ to: 'nobody' })));
    assert.equal(lost.body.error.code, 'AGENT_NOT_FOUND');
    const { id } = tfRequest();
    await orchestrator.send(tfRequest({ id }));
    await cook.send({ id, status: 'completed' });
    const [{ metadata }] = await orchestrator.inbox();
    assertRefused(await cook.send(signal({ signalId: metadata.parley.messageId })), 409, 'id_reserved');
  });

  it('delivers a signal in order with the other messages of one call', async (t) => {
    const { orchestrator, cook } = await kitchen(await testParley(t));
    const { id } = tfRequest();
    await orchestrator.send(tfRequest({ id }));
    const { body } = await cook.send({ messages: [{ id, status: 'completed' }, signal({ type: 'task_complete' })] });
    assert.deepEqual(
      body.results.map(({ status }: { status: number }) => status),
      [202, 202],
    );
    assert.equal((await orchestrator.inbox()).length, 2);
  });

  it('translates a signal for AgentOS, and the gap of an AgentOS agent into a signal', async (t) => {
    const parley = await testParley(t);
    const { cook } = await kitchen(parley);
    const scribe = await parley.agent('scribe', { dialect: 'agent-os' });
    const message = signal({ to: 'scribe', type: 'escalate' });
    await cook.send(message);
    const [event] = await scribe.inbox();
    assert.equal(event.type, 'event');
    assert.deepEqual(event.payload.content, { type: 'task-format.escalate', content: message.payload });
    const gap = {
      id: randomUUID(),
      timestamp: '2026-02-08T15:00:00Z',
      version: '1.0.0',
      from: { agentId: 'scribe' },
      to: { agentId: 'cook' },
      type: 'gap',
      payload: { content: { gapType: 'missing_data' } },
      ttl: 600,
    };
    assert.equal((await scribe.send(gap)).status, 202);
    const [told] = await cook.inbox();
    assert.deepEqual(
      [told.signalId, told.from, told.to, told.type, told.payload, told.parley.ttlSeconds],
      [gap.id, 'scribe', 'cook', 'agent-os.gap', { gapType: 'missing_data' }, 600],
    );
  });
});
