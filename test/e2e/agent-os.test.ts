import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AgentOsAgent, content, evidence } from '../support/agent-os-agent.ts';
import { eventually } from '../support/eventually.ts';
import { deployment } from './deployment.ts';

const { admin, agent, transport } = await deployment();

const speaker = async (name: string): Promise<AgentOsAgent> => {
  const { id, key } = await agent(name, { dialect: 'agent-os' });
  return new AgentOsAgent(id, key, transport);
};
const pair = async (): Promise<[AgentOsAgent, AgentOsAgent]> => [await speaker('brain'), await speaker('scribe')];

describe('agents that speak AgentOS', () => {
  it('ask, answer with evidence, and find all of it in the log', async () => {
    const [brain, scribe] = await pair();
    const query = await brain.say('query', scribe.id, { payload: content('كم؟', { format: 'text', language: 'ar' }) });
    const [task] = await scribe.claim({ wait: 10 });
    assert.deepEqual(task.message, query);
    const response = scribe.message('response', brain.id, { replyTo: query.id, evidence: evidence() });
    assert.equal((await scribe.send(response)).status, 202);
    assert.deepEqual(await brain.inbox(10), [response]);
    assert.equal(await brain.ack(response.id), 1);
    await eventually(async () => {
      const { status, body } = await brain.call('GET', '/v1/audit-log');
      assert.equal(status, 200);
      assert.deepEqual(
        body.entries.map(({ messageId }: { messageId: string }) => messageId),
        [response.id, query.id],
      );
    });
  });

  it('send gaps, large ones too, that stand in the inbox and on the list until they are read and closed', async () => {
    const [scout, monitor] = await pair();
    const gap = await scout.say('gap', monitor.id, { payload: content({ missing: 'x'.repeat(10_000) }) });
    assert.equal((await scout.send(gap)).body.duplicate, true);
    assert.deepEqual(await monitor.inbox(10), [gap]);
    assert.equal(await monitor.ack(gap.id), 1);
    const listed = async (status: string) => (await monitor.call('GET', `/v1/gaps?status=${status}`)).body.gaps.length;
    await eventually(async () => assert.equal(await listed('open'), 1));
    assert.equal((await monitor.call('POST', `/v1/gaps/${scout.id}/${gap.id}/close`)).status, 200);
    await eventually(async () => assert.deepEqual([await listed('open'), await listed('closed')], [0, 1]));
  });

  it('fail a task by its request alone, and are refused what they made up', async () => {
    const [brain, scribe] = await pair();
    const context = { requestId: `req-${brain.id}` };
    const query = await brain.say('query', scribe.id, { context });
    await scribe.claim({ wait: 10 });
    const made = await scribe.respond(brain.id, query.id, { evidence: evidence({ sources: [] }) });
    assert.deepEqual([made.status, made.body.code], [422, 'fabrication_detected']);
    await eventually(async () => {
      const { violations } = (await admin.call('GET', '/v1/violations')).body;
      assert.ok(violations.some((of: { agent: string }) => of.agent === scribe.id));
    });
    await eventually(async () => {
      assert.equal((await scribe.err(brain.id, { code: 'UNAUTHORIZED', message: 'no' }, { context })).status, 202);
      assert.equal((await brain.task(query.id)).state, 'failed');
    });
  });

  it('run as several instances, each of which gets what is for it', async () => {
    const [brain, scribe] = await pair();
    assert.deepEqual(await scribe.claim({ instance: 's1' }), []);
    const asked = await brain.say('query', scribe.id, {
      from: { agentId: brain.id, instanceId: 'b1' },
      to: { agentId: scribe.id, instanceId: 's1' },
    });
    assert.deepEqual(await scribe.claim({ instance: 's2' }), []);
    assert.equal((await scribe.claim({ instance: 's1', wait: 20 }))[0].message.id, asked.id);
    const inbox = async (instance: string, wait = 0) =>
      (await brain.call('GET', `/v1/inbox?instance=${instance}&wait=${wait}`)).body.messages.length;
    assert.equal(await inbox('b1'), 0);
    assert.equal((await scribe.respond(brain.id, asked.id)).status, 202);
    assert.equal(await inbox('b1', 20), 1);
    assert.equal(await inbox('b2'), 0);
  });

  it('are registered by their manifest', async () => {
    const ids = [`${(await speaker('a')).id}`, `${(await speaker('b')).id}`];
    const file = { agents: ids.map((id) => ({ id, name: 'The One', capabilities: ['reading'], tier: 1 })) };
    const { status, body } = await admin.call('POST', '/v1/manifest', file);
    assert.equal(status, 200);
    assert.deepEqual(
      body.agents,
      ids.map((id) => ({ id, outcome: 'changed' })),
    );
  });
});
