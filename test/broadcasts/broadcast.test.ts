import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, settled } from '../http/refusal.ts';
import { type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { callMessage, groundAgent } from '../support/ground.ts';
import { messageRouting, mrMessage, type Wire } from '../support/message-routing.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  const coordinator = await parley.agent('coordinator', {
    ...messageRouting,
    role: 'coordinator',
    inbox: 'ends',
  });
  const toMany = (audience: string, message: object) =>
    coordinator.call('POST', '/v1/messages', message, { 'parley-broadcast': audience });
  return { parley, coordinator, toMany };
};

const finished = async (parley: TestParley, id: string): Promise<Wire> => {
  let body: Wire;
  await eventually(async () => {
    parley.clock.advance(1);
    body = (await parley.admin.call('GET', `/v1/broadcasts/${id}`)).body;
    assert.equal(body.isDone, true);
  });
  return body;
};

const told = async (agent: TestAgent): Promise<string[]> => (await agent.inbox()).map(({ payload }) => payload.message);

describe('broadcast', () => {
  it('delivers a broadcast to all agents, or to those of a capability or domain, each in its own dialect', async (t) => {
    const { parley, coordinator, toMany } = await start(t);
    const coder = await parley.agent('coder', { ...messageRouting, capabilities: ['write_code'] });
    const guard = await parley.agent('guard', { ...messageRouting, domains: ['security'] });
    const analyst = await parley.agent('analyst', { capabilities: ['security.briefing'] });
    const say = async (audience: string) => {
      const message = mrMessage('status-update', 'coordinator', 'all', {
        payload: { status: 'blocked', message: audience },
      });
      const { status, body } = await toMany(audience, message);
      assert.equal(status, 202, JSON.stringify(body));
      return finished(parley, body.broadcastId);
    };
    const counts = [];
    for (const audience of [
      'all',
      'capability:write_code',
      'capability:security.briefing',
      'domain:security',
      'capability:none',
    ]) {
      counts.push((await say(audience)).delivered);
    }
    assert.deepEqual(counts, [3, 1, 1, 2, 0]);
    assert.deepEqual(await told(coder), ['all', 'capability:write_code']);
    assert.deepEqual(await told(guard), ['all', 'domain:security']);
    const read = (await analyst.inbox()).map(({ payload }) => payload.content.message);
    assert.deepEqual(read, ['all', 'capability:security.briefing', 'domain:security']);
    assert.deepEqual(await coordinator.inbox(), []);
    const [first] = await guard.inbox();
    assert.equal((await guard.call('POST', '/v1/inbox/ack', { ids: [first.msg_id] })).body.acknowledged, 1);
    assert.equal((await coder.inbox()).length, 2);
  });

  it('delivers a repeated broadcast once', async (t) => {
    const { parley, toMany } = await start(t);
    const reader = await parley.agent('reader', messageRouting);
    const message = mrMessage('status-update', 'coordinator', 'all');
    const { broadcastId } = (await toMany('all', message)).body;
    await finished(parley, broadcastId);
    const again = await toMany('all', message);
    assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    assertRefused(await toMany('domain:comms', message), 409, 'id_reused');
    await settled(parley);
    const [read, ...more] = await reader.inbox();
    assert.deepEqual([read, more], [{ ...message, to: 'reader' }, []]);
  });

  it('continues a broadcast after a restart, and reaches each of 250 agents once', async (t) => {
    const { parley, toMany } = await start(t);
    const ids = Array.from({ length: 250 }, (_, index) => `agent-${String(index).padStart(3, '0')}`);
    for (const id of ids) await parley.agent(id, messageRouting);
    const { broadcastId } = (await toMany('all', mrMessage('status-update', 'coordinator', 'all'))).body;
    await parley.restart();
    const { delivered: reached, failed: unreached } = await finished(parley, broadcastId);
    assert.deepEqual([reached, unreached], [250, 0]);
    for (const id of ids.filter((_, index) => index % 25 === 0)) {
      const { body } = await parley.admin.call('GET', `/v1/inbox?agent=${id}`);
      assert.equal(body.messages.length, 1, id);
    }
  });

  it('delivers a broadcast control command to all agents, and a broadcast task to each', async (t) => {
    const { parley, coordinator, toMany } = await start(t);
    const [one, two] = [await parley.agent('one', messageRouting), await parley.agent('two', messageRouting)];
    const stop = { action: 'stop' };
    await coordinator.send(mrMessage('command', 'coordinator', 'one', { payload: stop }));
    const pause = await toMany('all', mrMessage('command', 'coordinator', 'all'));
    const { delivered: reached, failed: unreached } = await finished(parley, pause.body.broadcastId);
    assert.deepEqual([reached, unreached], [1, 1]);
    const again = { action: 'start' };
    const go = await toMany('all', mrMessage('command', 'coordinator', 'all', { payload: again }));
    await finished(parley, go.body.broadcastId);
    const asked = await toMany('all', taskRequest('coordinator', { payload: { task: 'security.briefing' } }));
    await finished(parley, asked.body.broadcastId);
    for (const agent of [one, two]) {
      const [{ message }] = await agent.claim();
      assert.equal(message.payload.task, 'security.briefing');
      await agent.send(mrMessage('result', agent.id, 'coordinator', { correlation_id: message.msg_id }));
    }
    assert.equal((await coordinator.inbox()).length, 2);
  });

  it('delivers a broadcast to the other agents when one inbox is full', async (t) => {
    const { parley, toMany } = await start(t);
    const full = await parley.agent('full', { ...messageRouting, inboxLimit: 1, overflow: 'refuse' });
    const free = await parley.agent('free', messageRouting);
    for (const expected of [2, 1]) {
      const { body } = await toMany('all', mrMessage('status-update', 'coordinator', 'all'));
      assert.equal((await finished(parley, body.broadcastId)).delivered, expected);
    }
    assert.deepEqual([(await full.inbox()).length, (await free.inbox()).length], [1, 2]);
  });

  it('rejects a broadcast from an agent without the role, to an unknown audience, or of a heartbeat', async (t) => {
    const { parley, toMany } = await start(t);
    const reader = await parley.agent('reader', messageRouting);
    const message = mrMessage('status-update', 'reader', 'all');
    const byReader = await reader.call('POST', '/v1/messages', message, { 'parley-broadcast': 'all' });
    assertRefused(byReader, 403, 'forbidden');
    const own = mrMessage('status-update', 'coordinator', 'all');
    assertRefused(await toMany('everybody', own), 400, 'invalid_request');
    assertRefused(await toMany('domain:nowhere', own), 422, 'unknown_domain');
    assertRefused(await toMany('all', mrMessage('heartbeat', 'coordinator', 'all')), 400, 'invalid_request');
    assert.deepEqual(await reader.inbox(), []);
    const { body } = await toMany('all', own);
    assert.equal((await reader.call('GET', `/v1/broadcasts/${body.broadcastId}`)).status, 404);
  });

  it('rejects a broadcast of a message whose subject names its agent', async (t) => {
    const { parley } = await start(t);
    for (const id of ['worker', 'helper']) await groundAgent(parley, id);
    const call = callMessage('worker');
    const reply = await parley.admin.call('POST', '/v1/messages', call, { 'parley-broadcast': 'all' });
    assertRefused(reply, 400, 'invalid_request');
    assert.equal((await parley.admin.call('POST', '/v1/messages', call)).status, 202);
  });
});
