import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, Worker } from '../support/ground.ts';
import { consumerOf, nextOf, relaySite } from '../support/relay-site.ts';
import { tfRequest } from '../support/task-format.ts';

describe('CommonGround on NATS', () => {
  it('a turn is enqueued there, its worker is woken there, and what becomes of it is told there', async (t) => {
    const site = await relaySite(t);
    const worker = await site.agent('worker', { dialect: 'common-ground', via: 'nats' });
    await site.agent('pmo', { dialect: 'common-ground', via: 'nats' });
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
    const merlin = await groundAgent(site, 'merlin', { via: 'nats', capabilities: ['parse_recipe'] });
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
    const merlin = await groundAgent(site, 'merlin', { via: 'nats' });
    const relay = await site.relay();
    await enqueued(site.admin, 'merlin');
    const worker = new Worker(merlin);
    const held = await worker.begin();
    const { agent_turn_id } = held;
    const say = (content: string, index: number) =>
      site.client.publish(
        'cg.v1r3.default.public.str.agent.merlin.chunk',
        JSON.stringify({ agent_turn_id, step_id: 's1', chunk_type: 'text', content, index }),
      );
    // What is said before anybody listens is lost, as ever on core NATS.
    await eventually(() => {
      say('once ', 0);
      assert.ok(relay.metrics.counted('up', 'messages') > 0);
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

  it('a message that breaks the protocol ends in parley.dead', async (t) => {
    const site = await relaySite(t);
    await site.agent('pmo', { dialect: 'common-ground', via: 'nats' });
    await site.relay();
    const dead = await consumerOf(site.client, 'PARLEY_DEAD', { durable_name: 'looks-after' });
    const said = headers();
    said.set('CG-Sender', 'pmo');
    await jetstream(site.client).publish('cg.v1r3.default.public.cmd.agent.nobody.dance', '{}', { headers: said });
    const { subject, message } = await nextOf(dead);
    assert.equal(subject, 'parley.dead.cg.v1r3.default.public.cmd.agent.nobody.dance');
    assert.equal(JSON.parse(message.headers?.get('Parley-Problem') ?? '{}').code, 'protocol_violation');
    assert.equal(message.headers?.get('CG-Sender'), 'pmo');
  });
});
