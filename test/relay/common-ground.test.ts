import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import type { Ports } from '../../shared/ports/ports.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, headOf, madeCard, turnOf, Worker } from '../support/ground.ts';
import { consumerOf, nextOf, relaySite } from '../support/relay-site.ts';
import { tfRequest } from '../support/task-format.ts';

describe('CommonGround on NATS', () => {
  it('a turn is enqueued there, its worker is woken there, and what becomes of it is told there', async (t) => {
    const site = await relaySite(t);
    const worker = await site.agent('worker', { dialect: 'common-ground', transport: 'nats' });
    await site.agent('pmo', { dialect: 'common-ground', transport: 'nats' });
    await site.relay();
    const bells = await consumerOf(site.client, 'cg_cmd_v1r3', {
      durable_name: 'worker',
      filter_subject: 'cg.v1r3.default.*.cmd.agent.worker.wakeup',
    });
    const events = await consumerOf(site.client, 'cg_evt_v1r3', { durable_name: 'observer' });
    const said = headers();
    said.set('CG-Sender', 'pmo');
    said.set('CG-Recursion-Depth', '0');
    const correlation = randomUUID();
    await jetstream(site.client).publish(
      'cg.v1r3.default.public.cmd.agent.worker.turn',
      JSON.stringify({ correlation_id: correlation, mode: 'call' }),
      { headers: said },
    );
    const bell = await nextOf(bells);
    assert.equal(bell.body.agent_id, 'worker');
    assert.equal(bell.body.inbox_id, correlation);
    assert.match(bell.message.headers?.get('traceparent') ?? '', /^00-/);
    const { body: lease } = await worker.call('POST', '/v1/turns/lease', { agent_id: 'worker' });
    const state = await nextOf(events);
    assert.equal(state.subject, 'cg.v1r3.default.public.evt.agent.worker.state');
    assert.equal(state.body.agent_turn_id, lease.agent_turn_id);
    assert.equal(state.body.status, 'dispatched');
  });

  it('a worker there leases what is for it, and what anybody with its capability may do', async (t) => {
    const site = await relaySite(t);
    const merlin = await groundAgent(site, 'merlin', { transport: 'nats', capabilities: ['parse_recipe'] });
    const tim = await site.agent('tim', { dialect: 'task-format' });
    const worker = new Worker(merlin);
    for (const request of [tfRequest(), tfRequest({ routing: { target: 'merlin' } })]) {
      assert.equal((await tim.send(request)).status, 202);
      await worker.deliver(await worker.begin());
      assert.equal((await tim.task(request.id, 10)).state, 'completed');
    }
  });

  it('what a worker says there while it works is heard over HTTP, in its order, and by no one twice', async (t) => {
    const site = await relaySite(t);
    const merlin = await groundAgent(site, 'merlin', { transport: 'nats' });
    const relay = await site.relay();
    await enqueued(site.admin, 'merlin');
    const worker = new Worker(merlin);
    const held = await worker.begin();
    const { agent_turn_id } = held;
    const say = (content: string, index: number) =>
      site.client.publish(
        'cg.v1r3.default.public.str.agent.merlin.chunk',
        JSON.stringify({ agent_turn_id, step_id: 's1', chunk_type: 'content', content, index }),
      );
    // What is said before anybody listens is lost, as ever on core NATS.
    await eventually(() => {
      say('once ', 0);
      assert.ok(relay.metrics.getCount('ingress', 'messages') > 0);
    });
    say('a time', 2);
    say('upon ', 1);
    const response = await fetch(`${site.address}/v1/turns/${agent_turn_id}/stream`, {
      headers: { authorization: `Bearer ${merlin.key}` },
    });
    let text = '';
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const hadAll = text.includes('a time');
      text += piece;
      if (!hadAll && text.includes('a time')) await worker.deliver(held);
    }
    const told = [...text.matchAll(/^event: chunk\ndata: (.*)$/gm)];
    assert.deepEqual(
      told.map(([, data]) => JSON.parse(data ?? '').content),
      ['once ', 'upon ', 'a time'],
    );
  });

  it('what a worker in the cloud says is heard there in turns that were asked for there, and goes nowhere in others', async (t) => {
    let reads = 0;
    const queued: string[] = [];
    const through = ({ records, queues, ...ports }: Ports): Ports => ({
      ...ports,
      queues: {
        ...queues,
        send: (messages) => {
          queued.push(...messages.map(({ dedupId }) => dedupId).filter((id) => id.startsWith('chunk/')));
          return queues.send(messages);
        },
      },
      records: {
        ...records,
        get: (ref) => {
          if (ref.sk === 'turn') reads++;
          return records.get(ref);
        },
      },
    });
    const site = await relaySite(t, { through });
    const merlin = await groundAgent(site, 'merlin');
    await site.agent('pmo', { dialect: 'common-ground', transport: 'nats' });
    const relay = await site.relay();
    const heard = site.client.subscribe('cg.v1r3.default.*.str.>');
    await site.client.flush();
    const worker = new Worker(merlin);
    const say = (held: { agent_turn_id: string }, content: string) =>
      merlin.send({
        subject: 'cg.v1r3.default.public.str.agent.merlin.chunk',
        payload: { agent_turn_id: held.agent_turn_id, step_id: 's1', chunk_type: 'content', content },
      });

    await enqueued(site.admin, 'merlin');
    const own = await worker.begin();
    const readsBefore = reads;
    for (const word of ['nobody ', 'there ', 'asked']) assert.equal((await say(own, word)).status, 202);
    assert.deepEqual([reads - readsBefore <= 1, queued], [true, []]);
    await worker.deliver(own);

    const said = headers();
    said.set('CG-Sender', 'pmo');
    await jetstream(site.client).publish(
      'cg.v1r3.default.public.cmd.agent.merlin.turn',
      JSON.stringify({ correlation_id: randomUUID(), mode: 'call' }),
      { headers: said },
    );
    const held = await eventually(() => worker.begin());
    const words = ['once ', 'upon ', 'a time'];
    for (const word of words) assert.equal((await say(held, word)).status, 202);
    const told: string[] = [];
    for await (const message of heard) {
      const chunk = message.json<{ agent_turn_id: string; content: string }>();
      assert.equal(message.subject, 'cg.v1r3.default.public.str.agent.merlin.chunk');
      assert.equal(chunk.agent_turn_id, held.agent_turn_id);
      told.push(chunk.content);
      if (told.length === words.length) break;
    }
    assert.deepEqual(told, words);
    // The relay hears itself, and does not take it for the worker's.
    await eventually(() => assert.ok(relay.metrics.getCount('ingress', 'skipped') >= words.length));
    assert.equal(queued.length, words.length);
  });

  for (const [whom, service] of [
    ['by its name', { id: 'search' }],
    ['by its capability', { id: 'seeker', capabilities: ['search'] }],
  ] as const) {
    it(`a tool service there that is called ${whom} has the command on its subject, and its report resumes the turn`, async (t) => {
      const site = await relaySite(t);
      const merlin = await groundAgent(site, 'merlin');
      const { id, ...registration } = service;
      await groundAgent(site, id, { transport: 'nats', ...registration });
      await site.admin.call('PUT', '/v1/tools/web_search', { target_subject: 'cmd.tool.search.execute' });
      const result = await madeCard(site.admin, 'tool.result', { status: 'success', result: { found: 'the grail' } });
      await site.relay();
      const commands = await consumerOf(site.client, 'cg_cmd_v1r3', {
        durable_name: 'search',
        filter_subject: 'cg.v1r3.default.*.cmd.tool.search.>',
      });
      const turn = await enqueued(site.admin, 'merlin');
      const worker = new Worker(merlin);
      const held = await worker.begin();
      await worker.suspend(held, ['c1']);
      const subject = 'cg.v1r3.default.public.cmd.tool.search.execute';
      const call = { tool_call_id: 'c1', agent_id: 'merlin', tool_name: 'web_search' };
      const { agent_turn_id, turn_epoch } = held;
      const sent = await merlin.send({ subject, headers: {}, payload: { ...call, agent_turn_id, turn_epoch } });
      assert.equal(sent.status, 202, JSON.stringify(sent.body));

      const command = await nextOf(commands);
      assert.deepEqual([command.subject, command.body.tool_call_id], [subject, 'c1']);
      const said = headers();
      for (const name of ['traceparent', 'CG-Recursion-Depth'])
        said.set(name, command.message.headers?.get(name) ?? '');
      said.set('CG-Sender', id);
      const { tool_name: _name, ...about } = command.body;
      const report = { ...about, after_execution: 'suspend', status: 'success', tool_result_card_id: result };
      for (let times = 0; times < 2; times++) {
        await jetstream(site.client).publish(
          'cg.v1r3.default.public.cmd.agent.merlin.tool_result',
          JSON.stringify(report),
          { headers: said },
        );
      }
      await eventually(async () => assert.equal((await headOf(site.admin, 'merlin')).status, 'running'));
      const [waited, ...more] = (await turnOf(site.admin, turn)).waiting;
      assert.deepEqual([waited.tool_call_id, waited.status, waited.tool_result_card_id], ['c1', 'received', result]);
      assert.deepEqual(more, []);
      assert.equal((await merlin.task(sent.body.taskId, 5)).state, 'completed');
      await worker.deliver(held);
      assert.equal(await commands.next({ expires: 1000 }), null);
    });
  }

  it('a chunk that is rejected is logged, with the reason, once a minute', async (t) => {
    const site = await relaySite(t);
    await groundAgent(site, 'merlin', { transport: 'nats' });
    await site.relay();
    const rejected = () => site.logged.filter((line) => line.includes('core message rejected'));
    await eventually(() => {
      site.client.publish('cg.v1r3.default.public.str.agent.merlin.chunk', JSON.stringify({ agent_turn_id: 't1' }));
      assert.equal(rejected().length, 1);
    });
    const [line] = rejected();
    assert.match(line ?? '', /^warn .*str\.agent\.merlin\.chunk.*protocol_violation.*step_id/);
  });

  it('a message that breaks the protocol ends in parley.dead-letters', async (t) => {
    const site = await relaySite(t);
    await site.agent('pmo', { dialect: 'common-ground', transport: 'nats' });
    await site.relay();
    const dead = await consumerOf(site.client, 'PARLEY_DEAD_LETTERS', { durable_name: 'looks-after' });
    const said = headers();
    said.set('CG-Sender', 'pmo');
    await jetstream(site.client).publish('cg.v1r3.default.public.cmd.agent.nobody.dance', '{}', { headers: said });
    const { subject, message } = await nextOf(dead);
    assert.equal(subject, 'parley.dead-letters.cg.v1r3.default.public.cmd.agent.nobody.dance');
    assert.equal(JSON.parse(message.headers?.get('Parley-Problem') ?? '{}').code, 'protocol_violation');
    assert.equal(message.headers?.get('CG-Sender'), 'pmo');
  });

  it('a message without CG-Sender ends there too, and the problem says what is missing', async (t) => {
    const site = await relaySite(t);
    await site.relay();
    const dead = await consumerOf(site.client, 'PARLEY_DEAD_LETTERS', { durable_name: 'looks-after' });
    await jetstream(site.client).publish('cg.v1r3.default.public.cmd.agent.merlin.stop', '{}');
    const problem = JSON.parse((await nextOf(dead)).message.headers?.get('Parley-Problem') ?? '{}');
    assert.deepEqual([problem.code, problem.violated], ['protocol_violation', 'CG-Sender']);
    assert.match(problem.detail, /^CG-Sender is missing/);
  });
});
