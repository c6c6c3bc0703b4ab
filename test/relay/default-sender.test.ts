import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { defineConfig } from '../../shared/config/config.ts';
import { toToolCallTaskId } from '../../shared/model/tool-call.ts';
import { eventually } from '../support/eventually.ts';
import { called, enqueued, eventsOf, groundAgent, headOf, madeCard, turnOf, Worker } from '../support/ground.ts';
import { consumerOf, nextOf, type RelaySite, relaySite, SITE_CONFIG } from '../support/relay-site.ts';

const CONFIG = defineConfig({ ...SITE_CONFIG, dialects: { 'common-ground': { defaultSender: 'pmo' } } });

const siteWithDefault = async (t: TestContext): Promise<RelaySite> => {
  const site = await relaySite(t, { config: CONFIG });
  await groundAgent(site, 'pmo', { transport: 'nats', role: 'coordinator' });
  return site;
};

/** What every service of the original writes, unless it is told otherwise. */
const publish = (site: RelaySite, place: string, payload: object, more: Record<string, string> = {}) => {
  const said = headers();
  const given = { 'CG-Sender': 'cg-nats-client', 'CG-Recursion-Depth': '0', 'CG-Msg-Type': 'dict', ...more };
  for (const [name, value] of Object.entries(given)) if (value !== '') said.set(name, value);
  return jetstream(site.client).publish(`cg.v1r3.default.public.${place}`, JSON.stringify(payload), { headers: said });
};

const problemsOf = async (site: RelaySite) => {
  const dead = await consumerOf(site.client, 'PARLEY_DEAD_LETTERS', { durable_name: 'looks-after' });
  return async () => JSON.parse((await nextOf(dead)).message.headers?.get('Parley-Problem') ?? '{}');
};

describe('a message on NATS whose CG-Sender names no agent', () => {
  for (const [what, sender] of [
    ['unknown', 'cg-nats-client'],
    ['no possible name', 'tool.word_count'],
    ['missing', ''],
  ] as const) {
    it(`is sent by the default sender if the name is ${what}`, async (t) => {
      const site = await siteWithDefault(t);
      const worker = new Worker(await groundAgent(site, 'merlin', { transport: 'nats' }));
      await site.relay();
      const { agent_id: _agent, ...call } = called('merlin');
      await publish(site, 'cmd.agent.merlin.turn', call, { 'CG-Sender': sender });
      const held = await eventually(() => worker.take());
      assert.deepEqual([held.inbox[0].correlation_id, held.inbox[0].from], [call.correlation_id, 'pmo']);
    });
  }

  it('is sent by the agent that it names if it is a tool command, and its report by the default sender', async (t) => {
    const site = await siteWithDefault(t);
    const worker = new Worker(await groundAgent(site, 'merlin', { transport: 'nats' }));
    await groundAgent(site, 'word_count', { transport: 'nats' });
    await site.relay();
    await enqueued(site.admin, 'merlin');
    const held = await worker.begin();
    await worker.suspend(held, ['c1']);
    const { agent_turn_id, turn_epoch } = held;
    const identity = { tool_call_id: 'c1', agent_id: 'merlin', agent_turn_id, turn_epoch };
    await publish(site, 'cmd.tool.word_count.call', { ...identity, tool_name: null, context_box_id: null });
    const task = await eventually(async () => {
      const { status, body } = await site.admin.call('GET', `/v1/tasks/${toToolCallTaskId(agent_turn_id, 'c1')}`);
      assert.equal(status, 200);
      return body;
    });
    assert.equal(task.from, 'merlin', JSON.stringify(task));
    const card = await madeCard(site.admin, 'tool.result', { status: 'success', result: { words: 2 } });
    const report = { ...identity, after_execution: 'suspend', status: 'success', tool_result_card_id: card };
    await publish(site, 'cmd.agent.merlin.tool_result', report);
    await eventually(async () => assert.equal((await headOf(site.admin, 'merlin')).status, 'running'));
    const [call] = (await turnOf(site.admin, agent_turn_id)).waiting;
    assert.equal(call.tool_result_card_id, card);
  });

  it('is acknowledged if it is an action of a user interface', async (t) => {
    const site = await siteWithDefault(t);
    await groundAgent(site, 'panel', { transport: 'nats', workerTarget: 'ui_worker' });
    await site.admin.call('PUT', '/v1/tools/rename', { target_subject: 'cmd.tool.files.rename', ui_allowed: true });
    await site.relay();
    const action = { action_id: randomUUID(), agent_id: 'panel', tool_name: 'rename', args: {}, parent_step_id: null };
    await publish(site, 'cmd.sys.ui.action', action);
    const acks = await consumerOf(site.client, 'cg_evt_v1r3', {
      durable_name: 'ui',
      filter_subject: 'cg.v1r3.default.*.evt.sys.ui.action_ack',
    });
    const { body } = await nextOf(acks);
    assert.deepEqual([body.action_id, body.status], [action.action_id, 'accepted']);
  });

  it('is a dead letter if it is signed, or if the agent that it names signs', async (t) => {
    const site = await siteWithDefault(t);
    const { publicKey } = generateKeyPairSync('ed25519');
    const key = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
    const registration = { transport: 'nats', publicKey: key, signing: 'enforce' };
    const worker = new Worker(await groundAgent(site, 'merlin', registration));
    await site.relay();
    const nextProblem = await problemsOf(site);
    await publish(site, 'cmd.agent.merlin.turn', { correlation_id: 'a' }, { 'CG-Signature': 'AAAA' });
    assert.equal((await nextProblem()).code, 'unknown_agent');
    const identity = { tool_call_id: 'c1', agent_id: 'merlin', agent_turn_id: 't1', turn_epoch: 1 };
    await publish(site, 'cmd.tool.word_count.call', identity);
    assert.equal((await nextProblem()).code, 'bad_signature');
    assert.equal(await worker.lease(), undefined);
  });

  it('is a dead letter in a deployment without a default sender', async (t) => {
    const site = await relaySite(t);
    await groundAgent(site, 'merlin', { transport: 'nats' });
    await site.relay();
    const nextProblem = await problemsOf(site);
    await publish(site, 'cmd.agent.merlin.turn', { correlation_id: 'a' });
    const { code, detail } = await nextProblem();
    assert.equal(code, 'unknown_agent');
    assert.match(detail, /cg-nats-client/);
  });

  it('is still sent by its sender if that is an agent', async (t) => {
    const site = await siteWithDefault(t);
    await groundAgent(site, 'tim', { transport: 'nats' });
    await groundAgent(site, 'merlin', { transport: 'nats' });
    await site.relay();
    await publish(site, 'cmd.agent.merlin.wakeup', { agent_id: 'merlin' }, { 'CG-Sender': 'tim' });
    await eventually(async () => {
      const [rung] = await eventsOf(site.admin, 'cmd.agent.wakeup');
      assert.equal(rung?.data.headers['CG-Sender'], 'tim');
    });
  });
});
