import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { callerWith, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { messageRouting, mrMessage } from '../support/message-routing.ts';
import { deployment } from './deployment.ts';

const { admin, agent, transport } = await deployment();

describe('a relay', () => {
  it('speaks for agents on NATS, and gets the words of what is for them', async () => {
    const tim = await agent('tim');
    const knight = await agent('knight', { transport: 'nats' });
    const { body } = await admin.call('POST', '/v1/relay/key');
    const relay = callerWith(transport, body.key);
    const { body: plan } = await relay.call('GET', '/v1/relay/plan');
    assert.equal(plan.project, 'default');
    assert.ok(plan.sources.length > 5);
    assert.equal((await relay.call('GET', '/v1/agents')).status, 403);

    const params = { text: 'The wall holds. '.repeat(1000) };
    const id = await tim.request({ to: knight.id, payload: { params } });
    const inbox = `parley.default.${knight.id}.inbox`;
    const wordsFor = (ask: object) =>
      eventually(async () => {
        const reply = await relay.call('POST', '/v1/relay/render', { items: [{ id: randomUUID(), item: ask }] });
        assert.equal(reply.status, 200, JSON.stringify(reply.body));
        assert.ok(reply.body.results[0].publish, JSON.stringify(reply.body));
        return reply.body.results[0].publish;
      });
    const words = await wordsFor({ kind: 'request', taskId: id, queueGeneration: 1 });
    assert.deepEqual([words.subject, words.payload.id, words.payload.payload.params], [inbox, id, params]);

    const tasks = [taskRequest(knight.id, { to: tim.id })];
    const batch = await knight.call('POST', '/v1/batches', { tasks });
    assert.equal(batch.status, 202, JSON.stringify(batch.body));
    const { batchId } = batch.body;
    const ended = await wordsFor({ kind: 'batch', batchId });
    assert.deepEqual([ended.subject, ended.payload.payload.content.batchId], [inbox, batchId]);

    const report = {
      ...taskRequest(knight.id),
      type: 'task.result',
      correlationId: id,
      payload: { status: 'completed', result: { content: 'from afar' } },
    };
    const arrivals = [{ subject: `roundtable.results.security.${id}`, headers: {} }];
    const sent = await relay.call('POST', '/v1/messages', { messages: [report], envelopes: arrivals });
    assert.equal(sent.body.results[0].status, 202, JSON.stringify(sent.body));
    assert.equal((await tim.task(id, 10)).state, 'completed');

    const foreign = { messages: [{ ...report, id: randomUUID(), from: tim.id }], envelopes: arrivals };
    const refused = await relay.call('POST', '/v1/messages', foreign);
    assert.equal(refused.body.results[0].body.code, 'from_mismatch');
  });

  it('is given what is too large for the words of its reader as a card, the same each time that it asks', async () => {
    const knight = await agent('knight', { ...messageRouting, transport: 'nats' });
    const relay = callerWith(transport, (await admin.call('POST', '/v1/relay/key')).body.key);
    const content = `${'The wall holds. '.repeat(1000)}${randomUUID()}`;
    const outcome = {
      id: randomUUID(),
      from: 'parley',
      to: knight.id,
      happenedAt: Date.now(),
      status: 'completed',
      task: {
        project: 'default',
        id: randomUUID(),
        from: knight.id,
        capability: 'security.briefing',
        priority: 'normal',
        ttlSeconds: 60,
        traceparent: '',
        attempt: 1,
        extensions: {},
      },
      output: { json: content },
      extensions: {},
    };
    const asked = async () => {
      const items = [{ id: outcome.id, item: { kind: 'outcome', outcome } }];
      const { results: words } = (await relay.call('POST', '/v1/relay/render', { items })).body;
      assert.ok(words[0].publish, JSON.stringify(words));
      return words[0].publish.payload.payload.parley.output;
    };
    const card = await asked();
    assert.deepEqual(await asked(), card);
    assert.equal((await admin.call('GET', card.uri)).body.content, content);
  });

  it('is told a task in eight digits by which its reader can report, and shorter where NATS did not take it', async () => {
    const tim = await agent('tim');
    const knight = await agent('knight', { ...messageRouting, transport: 'nats' });
    const scribe = await agent('scribe', { transport: 'nats' });
    const relay = callerWith(transport, (await admin.call('POST', '/v1/relay/key')).body.key);
    const params = { text: 'The wall holds. '.repeat(5000) };
    const words = async (taskId: string, isTooLarge: boolean) => {
      const items = [{ id: randomUUID(), item: { kind: 'request', taskId, queueGeneration: 1 }, isTooLarge }];
      const reply = await relay.call('POST', '/v1/relay/render', { items });
      assert.ok(reply.body.results?.[0].publish, JSON.stringify(reply.body));
      return reply.body.results[0].publish.payload;
    };
    const large = await tim.request({ to: scribe.id, payload: { params } });
    assert.deepEqual((await words(large, false)).payload.params, params);
    const { uri } = (await words(large, true)).payload.params;
    assert.deepEqual((await scribe.call('GET', uri)).body.content, params);

    const id = await tim.request({ to: knight.id });
    const { msg_id: correlation_id } = await words(id, false);
    const messages = [mrMessage('result', knight.id, tim.id, { correlation_id })];
    const arrivals = [{ subject: 'parley.default.send', headers: {} }];
    const sent = await relay.call('POST', '/v1/messages', { messages, envelopes: arrivals });
    assert.equal(sent.body.results[0].status, 202, JSON.stringify(sent.body));
    assert.equal((await tim.task(id, 10)).state, 'completed');
  });
});
