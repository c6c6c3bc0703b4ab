import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import {
  callMessage,
  enqueued,
  eventsOf,
  groundAgent,
  type Held,
  headOf,
  madeCard,
  reports,
  taskEvents,
  turnOf,
  Worker,
} from '../support/ground.ts';
import { deployment } from './deployment.ts';

const PATIENCE_MS = 30_000;

describe('turns', { concurrency: 4 }, async () => {
  const parley = await deployment();

  it('run from a call to their delivery, with tools in between, are told once, and are listed by how they ended', async () => {
    const [arthur, merlin] = [await groundAgent(parley, 'arthur'), await groundAgent(parley, 'merlin')];
    const worker = new Worker(merlin);
    const waiting = worker.take({ wait: 15 });
    const id = await enqueued(arthur, merlin.id, { recursion_depth: 2 });
    const held = await waiting;
    assert.equal(held.agent_turn_id, id);
    await worker.ok(held, 'start');
    await worker.ok(held, 'step', { step_id: 's1', phase: 'think' });
    await worker.suspend(held, ['c1', 'c.2']);
    const depth = { recursion_depth: 2 };
    assert.equal((await reports(merlin, merlin.id, held, 'c1', depth)).status, 202);
    assert.equal((await reports(merlin, merlin.id, held, 'c1', depth)).body.reason, 'duplicate');
    assert.equal((await reports(merlin, merlin.id, held, 'c.2', depth)).status, 202);
    const again = await worker.take({ wait: 15 });
    assert.deepEqual(again.inbox.map(({ tool_call_id }) => tool_call_id).toSorted(), ['c.2', 'c1']);
    const card = await worker.deliver(held);
    assert.equal((await worker.say(held, 'step', { step_id: 's2', phase: 'p' })).body.code, 'stale_turn');
    await eventually(async () => {
      const [told, ...more] = await taskEvents(arthur, id);
      assert.equal(told?.data.payload.deliverable_card_id, card);
      assert.equal(more.length, 0);
    }, PATIENCE_MS);
    const shown = await eventually(async () => {
      const turn = await turnOf(arthur, id);
      assert.equal(turn.status, 'success');
      return turn;
    }, PATIENCE_MS);
    assert.equal(shown.recursion_depth, 2);
    await eventually(async () => {
      const { body } = await arthur.call('GET', `/v1/turns?agent=${merlin.id}&status=success`);
      assert.deepEqual(
        body.turns.map(({ agent_turn_id }: { agent_turn_id: string }) => agent_turn_id),
        [id],
      );
    }, PATIENCE_MS);
  });

  it('answer a call that is waited for with how they ended', async () => {
    const [arthur, merlin] = [await groundAgent(parley, 'arthur'), await groundAgent(parley, 'merlin')];
    const worker = new Worker(merlin);
    const answer = arthur.call('POST', '/v1/messages?wait=20', callMessage(merlin.id));
    const held = await worker.take({ wait: 15 });
    await worker.ok(held, 'start');
    const card = await worker.deliver(held);
    const { outcome } = (await answer).body;
    const { agent_turn_id, status, deliverable_card_id } = outcome.payload;
    assert.deepEqual([agent_turn_id, status, deliverable_card_id], [held.agent_turn_id, 'success', card]);
  });

  it('are leased by one of many who ask at once, one turn after the other', async () => {
    const merlin = await groundAgent(parley, 'merlin');
    const worker = new Worker(merlin);
    await Promise.all(Array.from({ length: 3 }, () => enqueued(parley.admin, merlin.id)));
    for (let epoch = 1; epoch <= 3; epoch++) {
      const leases = await Promise.all(Array.from({ length: 5 }, () => worker.lease()));
      const [held, ...others] = leases.filter((lease) => lease !== undefined);
      assert.ok(held);
      assert.equal(others.length, 0);
      assert.equal(held.turn_epoch, epoch);
      await worker.ok(held, 'start');
      await worker.deliver(held);
    }
    assert.equal(await worker.lease(), undefined);
  });

  it('end when they are stopped, leased or not', async () => {
    const merlin = await groundAgent(parley, 'merlin');
    const worker = new Worker(merlin);
    const first = await enqueued(parley.admin, merlin.id);
    const held = await worker.begin();
    const second = await enqueued(parley.admin, merlin.id);
    const stop = (id: string, turn_epoch: number) => parley.admin.call('POST', `/v1/turns/${id}/stop`, { turn_epoch });
    assert.equal((await stop(first, held.turn_epoch)).status, 200);
    assert.equal((await stop(second, 0)).status, 200);
    assert.equal(await worker.lease(), undefined);
    assert.equal((await headOf(parley.admin, merlin.id)).status, 'idle');
    for (const id of [first, second]) {
      await eventually(async () => {
        const [told] = await taskEvents(parley.admin, id);
        assert.equal(told?.data.payload.status, 'canceled');
        assert.ok(told.data.payload.deliverable_card_id);
      }, PATIENCE_MS);
    }
  });

  it('that are stopped say why, however long the reason is', async () => {
    const merlin = await groundAgent(parley, 'merlin');
    const id = await enqueued(parley.admin, merlin.id);
    const reason = '城'.repeat(4000);
    const stopped = await parley.admin.call('POST', `/v1/turns/${id}/stop`, { turn_epoch: 0, reason });
    assert.equal(stopped.status, 200, JSON.stringify(stopped.body));
    const { deliverable_card_id: card } = await turnOf(parley.admin, id);
    assert.equal((await parley.admin.call('GET', `/v1/cards/${card}`)).body.content.error, reason);
  });

  it('fork into turns of others, and go on when all of them have ended', async () => {
    const [merlin, kay] = [await groundAgent(parley, 'merlin'), await groundAgent(parley, 'kay')];
    const [worker, helper] = [new Worker(merlin), new Worker(kay)];
    await enqueued(parley.admin, merlin.id);
    const held = await worker.begin();
    await worker.suspend(held, ['fork']);
    const args = { tasks: [{ target_strategy: 'reuse', target_ref: kay.id, instruction: 'help' }] };
    const { agent_turn_id, turn_epoch } = held;
    const payload = {
      tool_call_id: 'fork',
      agent_id: merlin.id,
      agent_turn_id,
      turn_epoch,
      tool_call_card_id: await madeCard(merlin, 'tool.call', { args }),
    };
    const forking = { subject: 'cg.v1r3.default.public.cmd.sys.pmo.internal.fork_join', payload };
    const forked = await merlin.send(forking);
    assert.equal(forked.status, 202, JSON.stringify(forked.body));
    // It is there at once, and not only when somebody looks after what was not begun.
    await helper.deliver(await helper.begin());
    const { inbox } = await worker.take({ wait: 20 });
    assert.deepEqual([inbox[0].tool_call_id, inbox[0].status], ['fork', 'success']);
  });

  it('go on when the time of a tool is over, though its service has claimed the command', async () => {
    const [merlin, kay] = [await groundAgent(parley, 'merlin'), await groundAgent(parley, 'kay')];
    const worker = new Worker(merlin);
    const [tool_name, target_subject] = [`slow-${kay.id}`, `cmd.tool.${kay.id}.execute`];
    const tool = { target_subject, options: { deadline_seconds: 4 } };
    assert.equal((await parley.admin.call('PUT', `/v1/tools/${tool_name}`, tool)).status, 201);
    await enqueued(parley.admin, merlin.id);
    const { agent_turn_id, turn_epoch } = await worker.begin();
    await worker.suspend({ agent_turn_id, turn_epoch, inbox: [] }, ['slow']);
    const payload = { tool_call_id: 'slow', agent_id: merlin.id, agent_turn_id, turn_epoch, tool_name };
    const called = await merlin.send({ subject: `cg.v1r3.default.public.${target_subject}`, payload });
    assert.equal(called.status, 202, JSON.stringify(called.body));
    assert.equal((await kay.claim({ wait: 4 })).length, 1);
    const { inbox } = await eventually(() => worker.take({ wait: 10 }), PATIENCE_MS);
    assert.deepEqual([inbox[0].message_type, inbox[0].tool_call_id], ['timeout', 'slow']);
    await eventually(async () => {
      const renewed = await kay.call('POST', `/v1/tasks/${called.body.taskId}/renew`);
      assert.equal(renewed.body.code, 'cancelled');
    }, PATIENCE_MS);
  });

  it('are rung for by whoever likes, also where the agent is on NATS', async () => {
    const merlin = await groundAgent(parley, 'merlin', { transport: 'nats' });
    const subject = `cg.v1r3.default.public.cmd.agent.${merlin.id}.wakeup`;
    const rung = await parley.admin.call('POST', '/v1/messages', { subject, payload: { agent_id: merlin.id } });
    assert.equal(rung.status, 202, JSON.stringify(rung.body));
    await eventually(async () => {
      const bells = await eventsOf(parley.admin, 'cmd.agent.wakeup');
      assert.equal(bells.filter(({ data }) => data.to === merlin.id).length, 1);
    }, PATIENCE_MS);
  });

  it('of a group go to one of its agents', async () => {
    const group = `group-${Math.random().toString(36).slice(2)}`;
    const agents = [
      await groundAgent(parley, 'a', { capabilities: [group] }),
      await groundAgent(parley, 'b', { capabilities: [group] }),
    ];
    const id = await enqueued(parley.admin, group);
    const leases = await Promise.all(agents.map((agent) => new Worker(agent).lease()));
    const [held, ...others] = leases.filter((lease) => lease !== undefined);
    assert.equal(held?.agent_turn_id, id);
    assert.equal(others.length, 0);
  });

  it('call tools of any service, hand turns on, and are what tasks become', async () => {
    const [arthur, merlin, kay] = [
      await groundAgent(parley, 'arthur'),
      await groundAgent(parley, 'merlin'),
      await groundAgent(parley, 'kay'),
    ];
    const [worker, helper] = [new Worker(merlin), new Worker(kay)];
    await enqueued(arthur, merlin.id);
    const held = await worker.begin();
    await worker.suspend(held, ['tool', 'delegate']);
    const command = (subject: string, tool_call_id: string, more: object = {}) => ({
      subject: `cg.v1r3.default.public.cmd.${subject}`,
      payload: {
        tool_call_id,
        agent_id: merlin.id,
        agent_turn_id: held.agent_turn_id,
        turn_epoch: held.turn_epoch,
        ...more,
      },
    });
    assert.equal((await merlin.send(command(`tool.${arthur.id}.execute`, 'tool'))).status, 202);
    const args = { target_ref: kay.id, instruction: 'help' };
    const tool_call_card_id = await madeCard(merlin, 'tool.call', { args });
    const delegated = await merlin.send(command('sys.pmo.internal.delegate', 'delegate', { tool_call_card_id }));
    assert.equal(delegated.status, 202, JSON.stringify(delegated.body));
    const [claimed] = await arthur.claim({ wait: 15 });
    assert.equal(claimed.message.payload.tool_call_id, 'tool');
    await reports(arthur, merlin.id, held, 'tool');
    const child = await helper.take({ wait: 15 });
    assert.equal(child.inbox[0].recursion_depth, 1);
    await helper.ok(child, 'start');
    await helper.deliver(child);
    const { inbox } = await eventually(() => worker.take({ wait: 15 }), PATIENCE_MS);
    assert.deepEqual(
      inbox.map(({ status }) => status),
      ['success', 'success'],
    );
    await worker.deliver(held);
    const tim = await parley.agent('tim', { dialect: 'task-format', capabilities: [] });
    const asked = {
      id: `task-${held.agent_turn_id}`,
      type: 'parse_recipe',
      payload: { a: 1 },
      routing: { target: merlin.id },
    };
    assert.equal((await tim.call('POST', '/v1/tasks', asked)).status, 202);
    const task = await worker.take({ wait: 15 });
    await worker.ok(task, 'start');
    await worker.deliver(task, { cooked: true });
    await eventually(async () => {
      const { body } = await tim.call('GET', `/v1/tasks/${encodeURIComponent(asked.id)}`);
      assert.deepEqual(body.result, { cooked: true });
    }, PATIENCE_MS);
  });

  it('are what tasks of a domain become, large ones too, and low ones for whoever has nothing else to do', async () => {
    const tim = await parley.agent('tim');
    const [merlin, kay] = [
      await groundAgent(parley, 'merlin', { domains: ['home'] }),
      await groundAgent(parley, 'kay', { domains: ['home'] }),
    ];
    const [worker, helper] = [new Worker(merlin), new Worker(kay)];
    const ask = (priority: string) =>
      tim.request({ priority, payload: { task: 'home.status', params: { text: 'The wall holds. '.repeat(1000) } } });
    const leased = async (by: Worker, id: string): Promise<Held> => {
      for (let rounds = 0; rounds < 50; rounds++) {
        const held = await by.take({ wait: 20 });
        await by.ok(held, 'start');
        if (held.inbox[0].correlation_id === id) return held;
        // What others asked for in the domain.
        await by.deliver(held);
      }
      return assert.fail(`${id} never came`);
    };
    const urgent = await ask('critical');
    const held = await leased(worker, urgent);
    assert.equal(held.inbox[0].payload.input.text.length, 16_000);
    await worker.deliver(held, { content: 'done' });
    assert.equal((await tim.task(urgent, 20)).state, 'completed');
    // Who works on a task that it claimed is not given a low one.
    await tim.request({ to: merlin.id });
    assert.equal((await merlin.claim({ wait: 15, domains: [] })).length, 1);
    const low = await ask('low');
    const other = await worker.lease({ wait: 1 });
    assert.notEqual(other?.inbox[0].correlation_id, low);
    if (other) {
      await worker.ok(other, 'start');
      await worker.deliver(other);
    }
    await helper.deliver(await leased(helper, low), { content: 'done' });
    assert.equal((await tim.task(low, 20)).state, 'completed');
  });
});
