import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import type { Ports } from '../../shared/ports/ports.ts';
import type { TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, eventsOf, groundAgent, reports, Worker } from '../support/ground.ts';
import { consumerOf, nextOf, relaySite } from '../support/relay-site.ts';
import { tfRequest } from '../support/task-format.ts';

const TASK_EVENTS = 'cg.v1r3.default.public.evt.agent.*.task';

/** A site that knows when everything that is for NATS has come there. */
const siteWithQuiet = async (t: TestContext) => {
  const queued = new Set<string>();
  const through = ({ queues, ...ports }: Ports): Ports => ({
    ...ports,
    queues: {
      ...queues,
      send: (messages) => {
        for (const { queueKey, dedupId } of messages) if (queueKey.kind === 'relay') queued.add(dedupId);
        return queues.send(messages);
      },
    },
  });
  const site = await relaySite(t, { through });
  const relay = await site.relay();
  const jsm = await jetstreamManager(site.client);
  /** What stands on NATS of how turns ended, once so many ends were told over HTTP. */
  const taskEvents = async (told: number) => {
    await eventually(async () => assert.equal((await eventsOf(site.admin, 'evt.agent.task')).length, told));
    await eventually(() => {
      const brought = relay.metrics.getCount('egress', 'messages') + relay.metrics.getCount('egress', 'skipped');
      assert.equal(brought, queued.size);
    });
    const { state } = await jsm.streams.info('cg_evt_v1r3', { subjects_filter: TASK_EVENTS });
    const count = Object.values(state.subjects ?? {}).reduce((sum, each) => sum + each, 0);
    const all = await consumerOf(site.client, 'cg_evt_v1r3', { filter_subject: TASK_EVENTS });
    const found: [agent: string | undefined, turn: string, status: string][] = [];
    while (found.length < count) {
      const { subject, body } = await nextOf(all);
      found.push([subject.split('.').at(-2), body.agent_turn_id, body.status]);
    }
    return found;
  };
  return { ...site, taskEvents };
};

const calls = async (t: TestContext, end: (knight: TestAgent, task: string) => Promise<unknown>) => {
  const site = await siteWithQuiet(t);
  await groundAgent(site, 'pmo', { transport: 'nats' });
  const knight = await site.agent('knight');
  const said = headers();
  said.set('CG-Sender', 'pmo');
  said.set('CG-Recursion-Depth', '0');
  const payload = { correlation_id: randomUUID(), mode: 'call', payload: { ask: 'what is new?' } };
  await jetstream(site.client).publish('cg.v1r3.default.public.cmd.agent.knight.turn', JSON.stringify(payload), {
    headers: said,
  });
  const [claimed] = await knight.claim({ wait: 10 });
  await end(knight, claimed.message.id);
  const told = await site.taskEvents(1);
  const [event] = await eventsOf(site.admin, 'evt.agent.task');
  return { turn: event.data.payload.agent_turn_id, told };
};

describe('one task event ends a turn on NATS', () => {
  it('where the agent that was called speaks another dialect, and is done', async (t) => {
    const { turn, told } = await calls(t, (knight, task) => knight.complete(task));
    assert.deepEqual(told, [['knight', turn, 'success']]);
  });

  it('where it speaks another dialect, and fails', async (t) => {
    const failure = { error: 'invalid_params', message: 'no' };
    const { turn, told } = await calls(t, (knight, task) => knight.fail(task, failure));
    assert.deepEqual(told, [['knight', turn, 'failed']]);
  });

  it('and each of its states is told once, with what its agent asks', async (t) => {
    const site = await siteWithQuiet(t);
    await groundAgent(site, 'pmo', { transport: 'nats' });
    const cook = await site.agent('cook', { dialect: 'task-format' });
    const said = headers();
    said.set('CG-Sender', 'pmo');
    const call = { correlation_id: randomUUID(), mode: 'call', payload: {} };
    const place = 'cg.v1r3.default.public.cmd.agent.cook.turn';
    await jetstream(site.client).publish(place, JSON.stringify(call), { headers: said });
    const [{ message }] = await cook.claim({ wait: 10 });
    await cook.send({ id: message.id, status: 'in_progress', metadata: { progress: 40 } });
    await cook.send({ id: message.id, status: 'input_required', input: { prompt: 'How many?' } });
    await site.admin.call('POST', `/v1/tasks/${message.id}/input`, { input: { guests: 4 } });
    await cook.send({ id: message.id, status: 'completed', result: { done: true } });
    await site.taskEvents(1);
    const filter_subject = 'cg.v1r3.default.public.evt.agent.cook.state';
    const states = await consumerOf(site.client, 'cg_evt_v1r3', { filter_subject });
    const told: unknown[] = [];
    for (let left = 5; left > 0; left--) {
      const { status, metadata } = (await nextOf(states)).body;
      told.push([status, metadata?.progress ?? metadata?.input?.prompt]);
    }
    assert.deepEqual(told, [
      ['dispatched', undefined],
      ['running', 40],
      ['suspended', 'How many?'],
      ['dispatched', undefined],
      ['idle', undefined],
    ]);
    assert.equal(await states.next({ expires: 1000 }), null);
  });

  it('and a tool call has none', async (t) => {
    const site = await siteWithQuiet(t);
    const merlin = await groundAgent(site, 'merlin', { transport: 'nats' });
    const tool = await groundAgent(site, 'search');
    const turn = await enqueued(site.admin, 'merlin');
    const worker = new Worker(merlin);
    const held = await worker.begin();
    await worker.suspend(held, ['c1']);
    const { agent_turn_id, turn_epoch } = held;
    const command = { tool_call_id: 'c1', agent_id: 'merlin', agent_turn_id, turn_epoch };
    const subject = 'cg.v1r3.default.public.cmd.tool.search.execute';
    const sent = await merlin.send({ subject, payload: command });
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    assert.equal((await tool.claim({ wait: 10 })).length, 1);
    assert.equal((await reports(tool, 'merlin', held, 'c1')).status, 202);
    assert.equal((await merlin.task(sent.body.taskId, 5)).state, 'completed');
    assert.deepEqual(await site.taskEvents(0), []);
    await worker.deliver(await eventually(() => worker.take()));
    assert.deepEqual(await site.taskEvents(1), [['merlin', turn, 'success']]);
  });

  it('where its worker is there, and the task that it works on is cancelled', async (t) => {
    const site = await siteWithQuiet(t);
    const merlin = await groundAgent(site, 'merlin', { transport: 'nats', capabilities: ['parse_recipe'] });
    const tim = await site.agent('tim', { dialect: 'task-format' });
    const request = tfRequest({ routing: { target: 'merlin' } });
    assert.equal((await tim.send(request)).status, 202);
    const { agent_turn_id: turn } = await new Worker(merlin).begin();
    assert.equal((await tim.call('POST', `/v1/tasks/${request.id}/cancel`)).status, 200);
    assert.deepEqual(await site.taskEvents(1), [['merlin', turn, 'canceled']]);
  });
});
