import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import type { RunningRelay } from '../../relay/relay.ts';
import { defineConfig } from '../../shared/config/config.ts';
import { toToolCallTaskId } from '../../shared/model/tool-call.ts';
import type { Caller } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import {
  enqueued,
  eventsOf,
  type Ground,
  groundAgent,
  type Held,
  headOf,
  madeCard,
  turnOf,
  Worker,
} from '../support/ground.ts';
import { natsServer } from '../support/nats-server.ts';
import { consumerOf, nextOf, relaySite, SITE_CONFIG } from '../support/relay-site.ts';
import { startServer, tempDir } from '../support/server-process.ts';

const COMMAND = 'cg.v1r3.default.public.cmd.tool.word_count.call';
const BELL = 'cg.v1r3.default.public.cmd.agent.galahad.wakeup';

const named = (said: Record<string, string>) => {
  const carried = headers();
  for (const [name, value] of Object.entries(said)) carried.set(name, value);
  return carried;
};

/** How often something was said on the subject, by whomever. */
const timesSaidOn = async (client: NatsConnection, subject: string): Promise<number> => {
  const jsm = await jetstreamManager(client);
  const { state } = await jsm.streams.info('cg_cmd_v1r3', { subjects_filter: subject });
  return state.subjects?.[subject] ?? 0;
};

const payloadOf = ({ agent_turn_id, turn_epoch }: Held) => ({
  tool_call_id: 'c1',
  agent_id: 'merlin',
  agent_turn_id,
  turn_epoch,
});

/** A turn of a worker on NATS that waits for its call of a tool. */
const waitingTurn = async (ground: Ground) => {
  const merlin = await groundAgent(ground, 'merlin', { transport: 'nats' });
  await enqueued(ground.admin, 'merlin');
  const worker = new Worker(merlin);
  const held = await worker.begin();
  await worker.suspend(held, ['c1']);
  const say = (client: NatsConnection, more: Record<string, string> = {}) =>
    jetstream(client).publish(COMMAND, JSON.stringify(payloadOf(held)), {
      headers: named({ 'CG-Sender': 'merlin', ...more }),
    });
  return { merlin, worker, held, say };
};

const isBrought = (relay: RunningRelay) =>
  eventually(() => assert.ok(relay.metrics.getCount('ingress', 'messages') > 0));
const isSettled = (relay: RunningRelay) => eventually(() => assert.ok(relay.metrics.getCount('egress', 'skipped') > 0));

const reported = async (client: NatsConnection, admin: Caller, held: Held, from = 'word_count'): Promise<void> => {
  const card = await madeCard(admin, 'tool.result', { status: 'success', result: { words: 2 } });
  const report = { ...payloadOf(held), after_execution: 'suspend', status: 'success', tool_result_card_id: card };
  const said = named({ 'CG-Sender': from, 'CG-Recursion-Depth': '0' });
  await jetstream(client).publish('cg.v1r3.default.public.cmd.agent.merlin.tool_result', JSON.stringify(report), {
    headers: said,
  });
};

describe('a tool command that its caller publishes on NATS', () => {
  for (const [whom, service] of [
    ['by its name', { id: 'word_count' }],
    ['by its capability', { id: 'counter', capabilities: ['word_count'] }],
  ] as const) {
    it(`reaches a service there, called ${whom}, once`, async (t) => {
      const site = await relaySite(t);
      const { id, ...registration } = service;
      await groundAgent(site, id, { transport: 'nats', ...registration });
      const { say, held } = await waitingTurn(site);
      const relay = await site.relay();
      await say(site.client);
      await isSettled(relay);
      assert.equal(await timesSaidOn(site.client, COMMAND), 1);
      const [call] = (await turnOf(site.admin, held.agent_turn_id)).waiting;
      assert.equal(call.status, 'waiting');
    });
  }

  it('reaches it once though the relay brings it again and another relay takes over', async (t) => {
    const site = await relaySite(t);
    await groundAgent(site, 'word_count', { transport: 'nats' });
    const { say } = await waitingTurn(site);
    const first = await site.relay({ ackWaitMs: 1000 });
    await site.close();
    await say(site.client);
    await eventually(() => assert.ok(first.metrics.getCount('ingress', 'retries') > 0));
    await first.stop();
    await site.open();
    const second = await site.relay();
    await isBrought(second);
    await isSettled(second);
    assert.equal(await timesSaidOn(site.client, COMMAND), 1);
  });

  it('reaches it once though Parley is killed as soon as it has the command', async (t) => {
    const nats = await natsServer(t);
    const dir = tempDir(t);
    const first = await startServer(t, { dir, nats: nats.url });
    const client = await connect({ servers: nats.url });
    t.after(() => client.close());
    await groundAgent(first, 'word_count', { transport: 'nats' });
    const { say, held } = await waitingTurn(first);
    await say(client);
    const call = `/v1/tasks/${toToolCallTaskId(held.agent_turn_id, 'c1')}`;
    await eventually(async () => assert.equal((await first.admin.call('GET', call)).body.state, 'requested'));
    await first.kill('SIGKILL');
    const second = await startServer(t, { dir, nats: nats.url });
    await reported(client, second.admin, held);
    await eventually(async () => assert.equal((await headOf(second.admin, 'merlin')).status, 'running'));
    assert.equal((await second.admin.call('GET', call)).body.state, 'completed');
    assert.equal(await timesSaidOn(client, COMMAND), 1);
  });

  it('is handed on to a service of another dialect there, which has not heard it', async (t) => {
    const site = await relaySite(t);
    await site.agent('word_count', { transport: 'nats' });
    const { say } = await waitingTurn(site);
    await site.relay();
    const inbox = await consumerOf(site.client, 'PARLEY_default', {
      durable_name: 'word_count',
      filter_subject: 'parley.default.word_count.inbox',
    });
    await say(site.client);
    assert.equal((await nextOf(inbox)).body.type, 'task.request');
    assert.equal(await timesSaidOn(site.client, COMMAND), 1);
  });

  it('reaches it once more with each further attempt', async (t) => {
    const site = await relaySite(t);
    await groundAgent(site, 'counter', { transport: 'nats', capabilities: ['word_count'] });
    const helper = await site.agent('helper', { capabilities: ['word_count'] });
    const { say } = await waitingTurn(site);
    await site.relay();
    const commands = await consumerOf(site.client, 'cg_cmd_v1r3', { durable_name: 'counter', filter_subject: COMMAND });
    await say(site.client);
    assert.equal((await nextOf(commands)).message.headers?.has('Parley-Relay'), false);
    const [claimed] = await helper.claim({ wait: 10 });
    await helper.fail(claimed.message.id);
    const again = await nextOf(commands);
    assert.match(again.message.headers?.get('Nats-Msg-Id') ?? '', /#2#0$/);
    assert.equal(again.body.tool_call_id, 'c1');
    assert.equal(await timesSaidOn(site.client, COMMAND), 2);
  });

  for (const [whose, id, capabilities] of [
    ['the service that it names', 'word_count', []],
    ['one of its capability', 'counter', ['word_count']],
  ] as const) {
    it(`may be reported on by ${whose} before Parley has heard of it`, async (t) => {
      const site = await relaySite(t);
      await groundAgent(site, id, { transport: 'nats', capabilities });
      const { say, held } = await waitingTurn(site);
      const relay = await site.relay();
      await reported(site.client, site.admin, held, id);
      await eventually(() => assert.ok(relay.metrics.getCount('ingress', 'retries') > 0));
      await say(site.client);
      await eventually(async () => assert.equal((await headOf(site.admin, 'merlin')).status, 'running'));
      assert.equal(relay.metrics.getCount('ingress', 'dead_letters'), 0);
    });
  }
});

describe('a tool command over HTTP', () => {
  it('is published for its service on NATS once, however long nobody reports', async (t) => {
    const config = defineConfig({ ...SITE_CONFIG, tasks: { ...SITE_CONFIG.tasks, requeueMs: 100 } });
    const site = await relaySite(t, { config });
    await groundAgent(site, 'word_count', { transport: 'nats' });
    const { merlin, held } = await waitingTurn(site);
    const sent = await merlin.send({ subject: COMMAND, payload: payloadOf(held) });
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    const relay = await site.relay();
    await isSettled(relay);
    assert.equal((await merlin.task(sent.body.taskId)).state, 'requested');
    assert.equal(await timesSaidOn(site.client, COMMAND), 1);
  });
});

describe('a bell that is rung on NATS', () => {
  it('is heard there once, and over HTTP too', async (t) => {
    const site = await relaySite(t);
    await groundAgent(site, 'galahad', { transport: 'nats' });
    await groundAgent(site, 'pmo', { transport: 'nats' });
    await site.relay();
    const bells = await consumerOf(site.client, 'cg_cmd_v1r3', { durable_name: 'galahad', filter_subject: BELL });
    const ring = { agent_id: 'galahad', reason: 'by-pmo' };
    await jetstream(site.client).publish(BELL, JSON.stringify(ring), { headers: named({ 'CG-Sender': 'pmo' }) });
    await eventually(async () => assert.equal((await eventsOf(site.admin, 'cmd.agent.wakeup')).length, 1));
    // What follows on the subject is published behind whatever came before.
    const rung = { subject: BELL, payload: { ...ring, reason: 'by-admin' } };
    assert.equal((await site.admin.call('POST', '/v1/messages', rung)).status, 202);
    assert.deepEqual([(await nextOf(bells)).body.reason, (await nextOf(bells)).body.reason], ['by-pmo', 'by-admin']);
    assert.equal(await timesSaidOn(site.client, BELL), 2);
  });

  const GENERIC = 'cg.v1r3.default.public.cmd.agent.worker_generic.wakeup';

  it('goes to the workers of an agent that names them, for each turn and each group turn', async (t) => {
    const site = await relaySite(t);
    await groundAgent(site, 'merlin', {
      transport: 'nats',
      workerTarget: 'worker_generic',
      capabilities: ['wizards'],
    });
    await site.relay();
    const bells = await consumerOf(site.client, 'cg_cmd_v1r3', {
      durable_name: 'worker_generic',
      filter_subject: 'cg.v1r3.default.*.cmd.agent.*.wakeup',
    });
    for (const target of ['merlin', 'wizards']) {
      await enqueued(site.admin, target);
      const bell = await nextOf(bells);
      assert.deepEqual([bell.subject, bell.body.agent_id], [GENERIC, 'merlin']);
    }
  });

  it('reaches the workers of an agent once, whether it was rung at them or at the agent', async (t) => {
    const site = await relaySite(t);
    await groundAgent(site, 'merlin', { transport: 'nats', workerTarget: 'worker_generic' });
    await groundAgent(site, 'pmo', { transport: 'nats' });
    await site.relay();
    const ring = (subject: string, reason: string) =>
      jetstream(site.client).publish(subject, JSON.stringify({ agent_id: 'merlin', inbox_id: null, reason }), {
        headers: named({ 'CG-Sender': 'pmo' }),
      });
    await ring(GENERIC, 'at-the-workers');
    await eventually(async () => assert.equal((await eventsOf(site.admin, 'cmd.agent.wakeup')).length, 1));
    await ring(GENERIC.replace('worker_generic', 'merlin'), 'at-the-agent');
    const bells = await consumerOf(site.client, 'cg_cmd_v1r3', { durable_name: 'generic', filter_subject: GENERIC });
    const reasons = [(await nextOf(bells)).body.reason, (await nextOf(bells)).body.reason];
    assert.deepEqual(reasons, ['at-the-workers', 'at-the-agent']);
    assert.equal(await timesSaidOn(site.client, GENERIC), 2);
    const told = await eventsOf(site.admin, 'cmd.agent.wakeup');
    assert.deepEqual(
      told.map(({ data }) => [data.to, data.payload.agent_id]),
      [
        ['merlin', 'merlin'],
        ['merlin', 'merlin'],
      ],
    );
  });
});
