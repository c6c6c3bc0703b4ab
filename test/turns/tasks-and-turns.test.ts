import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { taskRef } from '../../shared/model/task.ts';
import { type Turn, turnRef } from '../../shared/model/turn.ts';
import { stopTurn } from '../../shared/turns/lifecycle/stop-turn.ts';
import { createTaskForTurn } from '../../shared/turns/task-bridge/turn-as-task.ts';
import { eventually } from '../support/eventually.ts';
import { called, enqueued, groundAgent, headOf, taskEvents, turnOf, Worker } from '../support/ground.ts';
import { speakers } from '../support/speakers.ts';
import { tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

describe('tasks and turns', () => {
  it('a task for an agent of CommonGround is its next turn, and ends with what that delivers', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim', { capabilities: [] });
    const worker = new Worker(await groundAgent(parley, 'merlin'));
    const id = await tim.request({ to: 'merlin', payload: { task: 'security.briefing', params: { scope: 'daily' } } });
    const held = await worker.take();
    assert.equal(held.inbox[0].correlation_id, id);
    assert.deepEqual(held.inbox[0].payload.input, { scope: 'daily' });
    assert.equal((await tim.task(id)).metadata.agent, 'merlin');
    await worker.ok(held, 'start');
    await worker.deliver(held, { answer: 'all quiet' });
    const [result] = await eventually(async () => {
      const inbox = await tim.inbox();
      assert.equal(inbox.length, 1);
      return inbox;
    });
    assert.equal(result.type, 'task.result');
    assert.deepEqual(result.payload.result, { answer: 'all quiet' });
    assert.equal((await taskEvents(parley.admin, held.agent_turn_id)).length, 1);
  });

  it('a task whose id has blanks is called by one without, under which it is found too', async (t) => {
    const parley = await testParley(t);
    const cook = await parley.agent('cook', { dialect: 'task-format' });
    const merlin = await groundAgent(parley, 'merlin');
    const { body } = await cook.send(tfRequest({ id: 'a fine soup', routing: { target: 'merlin' } }));
    const { correlation_id } = (await new Worker(merlin).take()).inbox[0];
    assert.doesNotMatch(correlation_id, / /);
    assert.equal((await merlin.call('GET', `/v1/tasks/${correlation_id}`)).body.id, body.taskId);
  });

  it('a task has what CommonGround has no word for beside it, and content that is too large for a turn as a card', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim', { dialect: 'task-format' });
    const worker = new Worker(await groundAgent(parley, 'merlin'));
    const request = tfRequest({
      payload: { text: 'x'.repeat(500_000) },
      context: { sessionId: 's-1' },
      routing: { target: 'merlin', delegationChain: ['first'] },
      retryPolicy: { maxAttempts: 2, backoffType: 'fixed', initialDelay: 5 },
    });
    assert.equal((await tim.send(request)).status, 202);
    const { input, parley: beside } = (await worker.take()).inbox[0].payload;
    assert.deepEqual([beside.attempt, beside.chain, beside.retry.maxAttempts], [1, ['first', 'tim'], 2]);
    assert.match(JSON.stringify(beside), /"sessionId":"s-1"/);
    assert.deepEqual([input.bytes > 500_000, input.text], [true, undefined]);
    const card = await worker.agent.call('GET', input.uri);
    assert.equal(card.body.content.text.length, 500_000);
  });

  for (const { dialect, request, readResult } of speakers.filter(({ dialect }) => dialect !== 'common-ground')) {
    it(`a deliverable as large as a card may be comes to whoever asked in ${dialect}, whole or as a card`, async (t) => {
      const parley = await testParley(t);
      const tim = await parley.agent('tim', { dialect, capabilities: [] });
      const worker = new Worker(await groundAgent(parley, 'merlin'));
      assert.equal((await tim.send(request('tim', 'merlin', { scope: 'daily' }))).status, 202);
      const { outputBytes } = parley.parley.deps.config.limits;
      const content = { text: 'x'.repeat(outputBytes - '{"text":""}'.length) };
      const card = await worker.deliver(await worker.begin(), content);
      const [result] = await tim.inbox(20);
      const { output } = readResult(result);
      assert.match(JSON.stringify(result), new RegExp(`"deliverable_card_id":"${card}"`));
      if (dialect !== 'message-routing') assert.deepEqual(output, content);
      else assert.deepEqual((await tim.call('GET', Object(output).uri)).body.content, content);
      const [{ id }] = (await tim.call('GET', '/v1/tasks')).body.tasks;
      const shown = await tim.call('GET', `/v1/tasks/${id}?dialect=task-format`);
      assert.deepEqual([shown.body.status, shown.body.result], ['completed', content]);
    });
  }

  it('a turn that delivers a part completes its task, and says that it is one', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim', { capabilities: [] });
    const worker = new Worker(await groundAgent(parley, 'merlin'));
    await tim.request({ to: 'merlin' });
    const deliverable = await worker.deliver(await worker.begin(), { half: true }, 'partial');
    const [{ payload, parley: beside }] = await tim.inbox(20);
    assert.deepEqual([payload.status, payload.result], ['completed', { half: true }]);
    assert.deepEqual([beside.commonGround.status, beside.commonGround.deliverable_card_id], ['partial', deliverable]);
  });

  it('a step without words for its progress is told by its phase', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim', { capabilities: [] });
    const worker = new Worker(await groundAgent(parley, 'merlin'));
    const id = await tim.request({ to: 'merlin' });
    const held = await worker.begin();
    await worker.ok(held, 'step', { step_id: 's1', phase: 'reading', metadata: { progress: 'much' } });
    await eventually(async () => assert.equal((await tim.task(id)).progress?.message, 'reading'));
    assert.equal((await tim.task(id)).progress.percent, undefined);
    const metadata = { progress: 70, message: 'x'.repeat(60_000) };
    await worker.ok(held, 'step', { step_id: 's2', phase: 'reading', metadata });
    await eventually(async () => assert.equal((await tim.task(id)).progress.percent, 70));
  });

  it('a task that waits for one comes to a worker that waits for a turn, and the other way round', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim', { capabilities: [] });
    const worker = new Worker(await groundAgent(parley, 'merlin', { capabilities: ['security.briefing'] }));
    const first = worker.take({ wait: 20 });
    const id = await tim.request();
    const held = await first;
    assert.equal(held.inbox[0].correlation_id, id, 'one of its domain');
    await worker.ok(held, 'start');
    await worker.deliver(held);
    const second = worker.take({ wait: 20 });
    const turn = await enqueued(parley.admin, 'merlin');
    assert.equal((await second).agent_turn_id, turn);
  });

  it('a turn that fails fails its task, and one that is reaped is tried again', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim', { capabilities: [] });
    const worker = new Worker(await groundAgent(parley, 'merlin'));
    const failing = await tim.request({ to: 'merlin' });
    await worker.deliver(await worker.begin(), {}, 'failed');
    await eventually(async () => assert.equal((await tim.task(failing)).status, 'failed'));
    const givenUp = await tim.request({ to: 'merlin' });
    await worker.deliver(await worker.begin(), {}, 'canceled');
    await eventually(async () => assert.equal((await tim.task(givenUp)).error?.code, 'CANCELLED'));
    const lost = await tim.request({ to: 'merlin' });
    await worker.take();
    parley.clock.advance(31_000);
    await eventually(async () => assert.equal((await headOf(tim, 'merlin')).status, 'idle'));
    const again = await eventually(() => {
      parley.clock.advance(1000);
      return worker.begin();
    });
    assert.equal(again.inbox[0].correlation_id, lost);
    await worker.deliver(again);
    await eventually(async () => assert.equal((await tim.task(lost)).status, 'completed'));
  });

  it('a turn that waits for its tools keeps its task for as long', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim', { capabilities: [] });
    const worker = new Worker(await groundAgent(parley, 'merlin'));
    const id = await tim.request({ to: 'merlin', ttl: 7200 });
    const held = await worker.begin();
    await worker.suspend(held, ['c1'], { deadline_seconds: 3000 });
    for (let round = 0; round < 10; round++) {
      parley.clock.advance(150_000);
      await eventually(async () => assert.equal((await headOf(tim, 'merlin')).status, 'suspended'));
      await eventually(async () => {
        const task = await parley.parley.deps.records.get({ pk: `default#task#${id}`, sk: 'task' });
        assert.ok(Number(Reflect.get(task ?? {}, 'leaseUntil')) > parley.clock.now() + 200_000);
      });
    }
    assert.equal((await tim.task(id)).metadata.retryCount, 0);
  });

  for (const speaker of speakers.filter(({ dialect }) => dialect !== 'common-ground')) {
    const { dialect } = speaker;
    it(`a call of an agent that speaks ${dialect} is a task of its, whose end is the end of the turn`, async (t) => {
      const parley = await testParley(t);
      const arthur = await groundAgent(parley, 'arthur');
      const kay = await parley.agent('kay', { dialect, capabilities: [] });
      const reply = await arthur.call('POST', '/v1/turns', called('kay', { recursion_depth: 3 }));
      assert.equal(reply.status, 201, JSON.stringify(reply.body));
      const { agent_turn_id: id } = reply.body;
      const [claimed] = await eventually(async () => {
        const tasks = await kay.claim();
        assert.equal(tasks.length, 1);
        return tasks;
      });
      const taskId = speaker.calledIn(claimed.message);
      assert.equal((await turnOf(arthur, id)).status, 'dispatched');
      await kay.send(speaker.progress({ from: kay, to: 'arthur', taskId }, 50, 'half'));
      assert.equal((await turnOf(arthur, id)).status, 'running');
      const done = await kay.send(speaker.complete({ from: kay, to: 'arthur', taskId }, { ok: 1 }));
      assert.equal(done.status, 202, JSON.stringify(done.body));
      const [told] = await eventually(async () => {
        const events = await taskEvents(arthur, id);
        assert.equal(events.length, 1);
        return events;
      });
      assert.equal(told.data.payload.status, 'success');
      const card = await arthur.call('GET', `/v1/cards/${told.data.payload.deliverable_card_id}`);
      assert.deepEqual(card.body.content, speaker.outputOf?.({ ok: 1 }) ?? { ok: 1 });
      assert.equal((await turnOf(arthur, id)).status, 'success');
    });
  }

  it('a task that is cancelled stops the turn that works on it', async (t) => {
    const parley = await testParley(t);
    const tim = await parley.agent('tim', { capabilities: [] });
    const worker = new Worker(await groundAgent(parley, 'merlin'));
    const id = await tim.request({ to: 'merlin' });
    const held = await worker.begin();
    assert.equal((await tim.call('POST', `/v1/tasks/${id}/cancel`)).status, 200);
    await eventually(async () =>
      assert.equal((await worker.say(held, 'step', { step_id: 's1', phase: 'p' })).body.code, 'stale_turn'),
    );
    await eventually(async () =>
      assert.deepEqual(
        (await taskEvents(parley.admin, held.agent_turn_id)).map(({ data }) => data.payload.status),
        ['canceled'],
      ),
    );
    assert.equal((await tim.task(id)).status, 'cancelled');
  });

  it('a call of an agent of another protocol that is stopped while it becomes a task is done by nobody', async (t) => {
    const parley = await testParley(t);
    const kay = await parley.agent('kay', { capabilities: [] });
    const { deps } = parley.parley;
    const seen = await deps.records.get(turnRef('default', await enqueued(parley.admin, 'kay')));
    assert.ok(seen);
    await eventually(async () => assert.equal((await kay.claim()).length, 1));
    // One that the dispatcher does not know to hand over, so that the test does it.
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
    assert.deepEqual(await kay.claim(), []);
    assert.equal((await turnOf(parley.admin, turn.id)).status, 'canceled');
  });

  it('a call of an agent of another protocol that has ended cannot be stopped', async (t) => {
    const parley = await testParley(t);
    const kay = await parley.agent('kay', { capabilities: [] });
    const id = await enqueued(parley.admin, 'kay');
    const [claimed] = await eventually(async () => {
      const tasks = await kay.claim();
      assert.equal(tasks.length, 1);
      return tasks;
    });
    await kay.complete(claimed.message.id, { ok: 1 });
    await eventually(async () => assert.equal((await turnOf(parley.admin, id)).status, 'success'));
    const late = await parley.admin.call('POST', `/v1/turns/${id}/stop`, { turn_epoch: 0 });
    assert.deepEqual([late.status, late.body.code], [409, 'stale_turn']);
  });

  it('a turn is not stopped in the name of another agent, whatever that speaks, nor told as its', async (t) => {
    const parley = await testParley(t);
    await groundAgent(parley, 'merlin');
    await groundAgent(parley, 'mordred');
    await parley.agent('galahad', { dialect: 'round-table', capabilities: [] });
    for (const agent of ['merlin', 'galahad']) {
      const id = await enqueued(parley.admin, agent);
      const stop = { agent_turn_id: id, agent_id: 'mordred', turn_epoch: 0 };
      const { agent_turn_id: _id, ...body } = stop;
      const replies = [
        await parley.admin.call('POST', `/v1/turns/${id}/stop`, body),
        await parley.admin.call('POST', '/v1/messages', {
          subject: 'cg.v1r3.default.public.cmd.agent.mordred.stop',
          payload: stop,
        }),
      ];
      for (const reply of replies)
        assert.equal(reply.body.code, 'stale_turn', `${agent}: ${JSON.stringify(reply.body)}`);
      assert.equal((await turnOf(parley.admin, id)).status, 'queued');
    }
  });

  it('a call of an agent of another protocol is stopped like any other', async (t) => {
    const parley = await testParley(t);
    const kay = await parley.agent('kay', { capabilities: [] });
    const id = await enqueued(parley.admin, 'kay');
    await eventually(async () => assert.equal((await kay.claim()).length, 1));
    assert.equal((await parley.admin.call('POST', `/v1/turns/${id}/stop`, { turn_epoch: 0 })).status, 200);
    await eventually(async () =>
      assert.equal((await taskEvents(parley.admin, id))[0]?.data.payload.status, 'canceled'),
    );
  });
});
