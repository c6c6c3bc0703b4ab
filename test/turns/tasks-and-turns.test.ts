import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { taskRef } from '../../shared/model/task.ts';
import { type Turn, turnRef } from '../../shared/model/turn.ts';
import { stopTurn } from '../../shared/turns/lifecycle/stop-turn.ts';
import { createTaskForTurn } from '../../shared/turns/task-bridge/turn-as-task.ts';
import { eventually } from '../support/eventually.ts';
import { called, enqueued, eventsOf, groundAgent, headOf, taskEvents, turnOf, Worker } from '../support/ground.ts';
import { speakers } from '../support/speakers.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

describe('tasks as turns and turns as tasks', () => {
  it('runs a task for a CommonGround agent as its next turn and completes it with the deliverable', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { capabilities: [] });
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await requester.request({
      to: 'worker',
      payload: { task: 'security.briefing', params: { scope: 'daily' } },
    });
    const held = await worker.take();
    assert.equal(held.inbox[0].correlation_id, id);
    assert.deepEqual(held.inbox[0].payload.input, { scope: 'daily' });
    assert.equal((await requester.task(id)).metadata.agent, 'worker');
    await worker.ok(held, 'start');
    await worker.deliver(held, { answer: 'all quiet' });
    const [result] = await eventually(async () => {
      const inbox = await requester.inbox();
      assert.equal(inbox.length, 1);
      return inbox;
    });
    assert.equal(result.type, 'task.result');
    assert.deepEqual(result.payload.result, { answer: 'all quiet' });
    assert.equal((await taskEvents(parley.admin, held.agent_turn_id)).length, 1);
  });

  it('gives a task whose id has blanks an alias without blanks, which also finds the task', async (t) => {
    const parley = await testParley(t);
    const cook = await parley.agent('cook', { dialect: 'task-format' });
    const worker = await groundAgent(parley, 'worker');
    const { body } = await cook.send(tfRequest({ id: 'a fine soup', routing: { target: 'worker' } }));
    const { correlation_id } = (await new Worker(worker).take()).inbox[0];
    assert.doesNotMatch(correlation_id, / /);
    assert.equal((await worker.call('GET', `/v1/tasks/${correlation_id}`)).body.id, body.taskId);
  });

  for (const [size, content] of [
    ['small', 'all quiet'],
    ['large', 'x'.repeat(100_000)],
  ] as const) {
    it(`names the card of a ${size} deliverable in the inbox of who called an agent of another dialect`, async (t) => {
      const parley = await testParley(t);
      const caller = await groundAgent(parley, 'caller');
      const knight = await parley.agent('knight');
      const turn = await enqueued(caller, 'knight');
      const [claimed] = await eventually(async () => {
        const found = await knight.claim();
        assert.equal(found.length, 1);
        return found;
      });
      await knight.complete(claimed.message.id, { content });
      const [{ payload }] = await eventually(async () => {
        const inbox = await caller.inbox();
        assert.equal(inbox.length, 1);
        return inbox;
      });
      const { body } = await caller.call('GET', `/v1/cards/${payload.deliverable_card_id}`);
      assert.deepEqual(body.content, { content });
      assert.equal((await turnOf(caller, turn)).deliverable_card_id, payload.deliverable_card_id);
    });
  }

  it('records the states of a turn of an agent of another dialect in the event log', async (t) => {
    const parley = await testParley(t);
    await groundAgent(parley, 'caller');
    const cook = await parley.agent('cook', taskFormat);
    const turn = await enqueued(parley.admin, 'cook');
    const [{ message }] = await eventually(async () => {
      const found = await cook.claim();
      assert.equal(found.length, 1);
      return found;
    });
    const say = async (more: object) => assert.ok((await cook.send({ id: message.id, ...more })).status < 300);
    await say({ status: 'in_progress', metadata: { progress: 40, message: 'peeling' } });
    await say({ status: 'input_required', input: { prompt: 'How many?' } });
    const answered = await parley.admin.call('POST', `/v1/tasks/${turn}/input`, { input: { guests: 4 } });
    assert.ok(answered.status < 300, JSON.stringify(answered.body));
    await say({ status: 'completed', result: { done: true } });
    const states = await eventually(async () => {
      const events = await eventsOf(parley.admin, 'evt.agent.state');
      assert.equal(events.at(-1)?.data.payload.status, 'idle');
      return events.map(({ data }) => data);
    });
    assert.deepEqual(
      [...new Set(states.map(({ subject }) => subject))],
      ['cg.v1r3.default.public.evt.agent.cook.state'],
    );
    assert.deepEqual([...new Set(states.map(({ payload }) => payload.agent_turn_id))], [turn]);
    assert.deepEqual(
      states.map(({ payload: { status, metadata } }) => [status, metadata]),
      [
        ['dispatched', undefined],
        ['running', { progress: 40, message: 'peeling' }],
        ['suspended', { input: { prompt: 'How many?' } }],
        ['dispatched', undefined],
        ['idle', undefined],
      ],
    );
  });

  it('passes extensions of a task beside the turn and content that is too large as a card', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { dialect: 'task-format' });
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const request = tfRequest({
      payload: { text: 'x'.repeat(500_000) },
      context: { sessionId: 's-1' },
      routing: { target: 'worker', delegationChain: ['first'] },
      retryPolicy: { maxAttempts: 2, backoffType: 'fixed', initialDelay: 5 },
    });
    assert.equal((await requester.send(request)).status, 202);
    const { input, parley: beside } = (await worker.take()).inbox[0].payload;
    assert.deepEqual([beside.attempt, beside.chain, beside.retry.maxAttempts], [1, ['first', 'requester'], 2]);
    assert.match(JSON.stringify(beside), /"sessionId":"s-1"/);
    assert.deepEqual([input.bytes > 500_000, input.text], [true, undefined]);
    const card = await worker.agent.call('GET', input.uri);
    assert.equal(card.body.content.text.length, 500_000);
  });

  for (const { dialect, request, readResult } of speakers.filter(({ dialect }) => dialect !== 'common-ground')) {
    it(`returns a deliverable of maximum size to a ${dialect} requester, whole or as a card`, async (t) => {
      const parley = await testParley(t);
      const requester = await parley.agent('requester', { dialect, capabilities: [], inbox: 'ends' });
      const worker = new Worker(await groundAgent(parley, 'worker'));
      assert.equal((await requester.send(request('requester', 'worker', { scope: 'daily' }))).status, 202);
      const { outputBytes } = parley.parley.deps.config.limits;
      const content = { text: 'x'.repeat(outputBytes - '{"text":""}'.length) };
      const card = await worker.deliver(await worker.begin(), content);
      const [result] = await requester.inbox(20);
      const { output } = readResult(result);
      assert.match(JSON.stringify(result), new RegExp(`"deliverable_card_id":"${card}"`));
      if (dialect !== 'message-routing') assert.deepEqual(output, content);
      else assert.deepEqual((await requester.call('GET', Object(output).uri)).body.content, content);
      const [{ id }] = (await requester.call('GET', '/v1/tasks')).body.tasks;
      const shown = await requester.call('GET', `/v1/tasks/${id}?dialect=task-format`);
      assert.deepEqual([shown.body.status, shown.body.result], ['completed', content]);
    });
  }

  it('completes a task whose turn delivers partial and marks the result as partial', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { capabilities: [] });
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await requester.request({ to: 'worker' });
    const deliverable = await worker.deliver(await worker.begin(), { half: true }, 'partial');
    const [{ payload, parley: beside }] = await requester.inbox(20);
    assert.deepEqual([payload.status, payload.result], ['completed', { half: true }]);
    assert.deepEqual([beside.commonGround.status, beside.commonGround.deliverable_card_id], ['partial', deliverable]);
  });

  it('reports the phase as progress for a step without a text', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { capabilities: [] });
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await requester.request({ to: 'worker' });
    const held = await worker.begin();
    await worker.ok(held, 'step', { step_id: 's1', phase: 'reading', metadata: { progress: 'much' } });
    await eventually(async () => assert.equal((await requester.task(id)).progress?.message, 'reading'));
    assert.equal((await requester.task(id)).progress.percent, undefined);
    const metadata = { progress: 70, message: 'x'.repeat(60_000) };
    await worker.ok(held, 'step', { step_id: 's2', phase: 'reading', metadata });
    await eventually(async () => assert.equal((await requester.task(id)).progress.percent, 70));
  });

  it('wakes a worker that waits for turns with a task, and one that waits for tasks with a turn', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { capabilities: [] });
    const worker = new Worker(await groundAgent(parley, 'worker', { capabilities: ['security.briefing'] }));
    const first = worker.take({ wait: 20 });
    const id = await requester.request();
    const held = await first;
    assert.equal(held.inbox[0].correlation_id, id, 'one of its domain');
    await worker.ok(held, 'start');
    await worker.deliver(held);
    const second = worker.take({ wait: 20 });
    const turn = await enqueued(parley.admin, 'worker');
    assert.equal((await second).agent_turn_id, turn);
  });

  it('fails the task of a failed turn and retries the task of a reaped turn', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { capabilities: [] });
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const failing = await requester.request({ to: 'worker' });
    await worker.deliver(await worker.begin(), {}, 'failed');
    await eventually(async () => assert.equal((await requester.task(failing)).status, 'failed'));
    const givenUp = await requester.request({ to: 'worker' });
    await worker.deliver(await worker.begin(), {}, 'canceled');
    await eventually(async () => assert.equal((await requester.task(givenUp)).error?.code, 'CANCELLED'));
    const lost = await requester.request({ to: 'worker' });
    await worker.take();
    parley.clock.advance(31_000);
    await eventually(async () => assert.equal((await headOf(requester, 'worker')).status, 'idle'));
    const again = await eventually(() => {
      parley.clock.advance(1000);
      return worker.begin();
    });
    assert.equal(again.inbox[0].correlation_id, lost);
    await worker.deliver(again);
    await eventually(async () => assert.equal((await requester.task(lost)).status, 'completed'));
  });

  it('keeps the lease of a task while its turn waits for tools', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { capabilities: [] });
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await requester.request({ to: 'worker', ttl: 7200 });
    const held = await worker.begin();
    await worker.suspend(held, ['c1'], { deadline_seconds: 3000 });
    for (let round = 0; round < 10; round++) {
      parley.clock.advance(150_000);
      await eventually(async () => assert.equal((await headOf(requester, 'worker')).status, 'suspended'));
      await eventually(async () => {
        const task = await parley.parley.deps.records.get({ pk: `default#task#${id}`, sk: 'task' });
        assert.ok(Number(Reflect.get(task ?? {}, 'leaseUntil')) > parley.clock.now() + 200_000);
      });
    }
    assert.equal((await requester.task(id)).metadata.retryCount, 0);
  });

  for (const speaker of speakers.filter(({ dialect }) => dialect !== 'common-ground')) {
    const { dialect } = speaker;
    it(`runs the call of a ${dialect} agent as its task and ends the turn with the task`, async (t) => {
      const parley = await testParley(t);
      const caller = await groundAgent(parley, 'caller');
      const taskAgent = await parley.agent('task-agent', { dialect, capabilities: [] });
      const reply = await caller.call('POST', '/v1/turns', called('task-agent', { recursion_depth: 3 }));
      assert.equal(reply.status, 201, JSON.stringify(reply.body));
      const { agent_turn_id: id } = reply.body;
      const [claimed] = await eventually(async () => {
        const tasks = await taskAgent.claim();
        assert.equal(tasks.length, 1);
        return tasks;
      });
      const taskId = speaker.calledIn(claimed.message);
      assert.equal((await turnOf(caller, id)).status, 'dispatched');
      await taskAgent.send(speaker.progress({ from: taskAgent, to: 'caller', taskId }, 50, 'half'));
      assert.equal((await turnOf(caller, id)).status, 'running');
      const done = await taskAgent.send(speaker.complete({ from: taskAgent, to: 'caller', taskId }, { ok: 1 }));
      assert.equal(done.status, 202, JSON.stringify(done.body));
      const [told] = await eventually(async () => {
        const events = await taskEvents(caller, id);
        assert.equal(events.length, 1);
        return events;
      });
      assert.equal(told.data.payload.status, 'success');
      const card = await caller.call('GET', `/v1/cards/${told.data.payload.deliverable_card_id}`);
      assert.deepEqual(card.body.content, speaker.outputOf?.({ ok: 1 }) ?? { ok: 1 });
      assert.equal((await turnOf(caller, id)).status, 'success');
    });
  }

  it('stops the turn of a cancelled task', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { capabilities: [] });
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await requester.request({ to: 'worker' });
    const held = await worker.begin();
    assert.equal((await requester.call('POST', `/v1/tasks/${id}/cancel`)).status, 200);
    await eventually(async () =>
      assert.equal((await worker.say(held, 'step', { step_id: 's1', phase: 'p' })).body.code, 'stale_turn'),
    );
    await eventually(async () =>
      assert.deepEqual(
        (await taskEvents(parley.admin, held.agent_turn_id)).map(({ data }) => data.payload.status),
        ['canceled'],
      ),
    );
    assert.equal((await requester.task(id)).status, 'cancelled');
  });

  it('delivers no task for a turn that is stopped before its task is created', async (t) => {
    const parley = await testParley(t);
    const taskAgent = await parley.agent('task-agent', { capabilities: [] });
    const { deps } = parley.parley;
    const seen = await deps.records.get(turnRef('default', await enqueued(parley.admin, 'task-agent')));
    assert.ok(seen);
    await eventually(async () => assert.equal((await taskAgent.claim()).length, 1));
    // The dispatcher does not hand over this turn, so the test does.
    const turn = { ...seen, ...turnRef('default', 'turn_x'), sk: 'turn' as const, id: 'turn_x' };
    await deps.records.create<Turn>({ ...turn, isRunAsTask: undefined }, deps.newId());
    const records: typeof deps.records = Object.create(deps.records);
    records.create = async (item, token) => {
      if (item.sk === 'task') {
        await assert.rejects(stopTurn(deps, turn, 1), { code: 'stale_turn' });
        assert.deepEqual(await stopTurn(deps, turn, 0), { duplicate: false });
        assert.deepEqual(await stopTurn(deps, turn, 0), { duplicate: true });
      }
      return deps.records.create(item, token);
    };
    await createTaskForTurn({ ...deps, records }, turn);
    const task = await deps.records.get(taskRef('default', turn.id));
    assert.equal(task?.status, 'cancelled');
    assert.deepEqual(await taskAgent.claim(), []);
    assert.equal((await turnOf(parley.admin, turn.id)).status, 'canceled');
  });

  it('rejects the stop of an ended turn of an agent of another dialect', async (t) => {
    const parley = await testParley(t);
    const taskAgent = await parley.agent('task-agent', { capabilities: [] });
    const id = await enqueued(parley.admin, 'task-agent');
    const [claimed] = await eventually(async () => {
      const tasks = await taskAgent.claim();
      assert.equal(tasks.length, 1);
      return tasks;
    });
    await taskAgent.complete(claimed.message.id, { ok: 1 });
    await eventually(async () => assert.equal((await turnOf(parley.admin, id)).status, 'success'));
    const late = await parley.admin.call('POST', `/v1/turns/${id}/stop`, { turn_epoch: 0 });
    assert.deepEqual([late.status, late.body.code], [409, 'stale_turn']);
  });

  it('rejects the stop of a turn in the name of another agent, whatever the dialect of its agent', async (t) => {
    const parley = await testParley(t);
    await groundAgent(parley, 'worker');
    await groundAgent(parley, 'intruder');
    await parley.agent('round-table-agent', { dialect: 'round-table', capabilities: [] });
    for (const agent of ['worker', 'round-table-agent']) {
      const id = await enqueued(parley.admin, agent);
      const stop = { agent_turn_id: id, agent_id: 'intruder', turn_epoch: 0 };
      const { agent_turn_id: _id, ...body } = stop;
      const replies = [
        await parley.admin.call('POST', `/v1/turns/${id}/stop`, body),
        await parley.admin.call('POST', '/v1/messages', {
          subject: 'cg.v1r3.default.public.cmd.agent.intruder.stop',
          payload: stop,
        }),
      ];
      for (const reply of replies)
        assert.equal(reply.body.code, 'stale_turn', `${agent}: ${JSON.stringify(reply.body)}`);
      assert.equal((await turnOf(parley.admin, id)).status, 'queued');
    }
  });

  it('stops the turn of an agent of another dialect', async (t) => {
    const parley = await testParley(t);
    const taskAgent = await parley.agent('task-agent', { capabilities: [] });
    const id = await enqueued(parley.admin, 'task-agent');
    await eventually(async () => assert.equal((await taskAgent.claim()).length, 1));
    assert.equal((await parley.admin.call('POST', `/v1/turns/${id}/stop`, { turn_epoch: 0 })).status, 200);
    await eventually(async () =>
      assert.equal((await taskEvents(parley.admin, id))[0]?.data.payload.status, 'canceled'),
    );
  });
});
