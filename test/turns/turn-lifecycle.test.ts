import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { agentStateRef } from '../../shared/model/agent-state.ts';
import { eventually } from '../support/eventually.ts';
import {
  called,
  enqueued,
  eventsOf,
  groundAgent,
  headOf,
  madeCard,
  reports,
  taskEvents,
  turnOf,
  Worker,
} from '../support/ground.ts';
import { testParley } from '../support/test-parley.ts';

describe('turn lifecycle', () => {
  it('runs a turn from call through lease, start, steps, tool calls and reports to one published deliverable', async (t) => {
    const parley = await testParley(t);
    const requester = await groundAgent(parley, 'requester');
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const context = [await madeCard(requester, 'task.instruction', { be: 'brief' })];
    const { body: box } = await requester.call('POST', '/v1/boxes', { kind: 'context', cards: context });
    const id = await enqueued(requester, 'worker', { correlation_id: 'c-1', context_box_id: box.box_id });
    assert.equal((await turnOf(requester, id)).status, 'queued');

    const held = await worker.take();
    assert.equal(held.agent_turn_id, id);
    assert.equal(held.turn_epoch, 1);
    assert.equal(held.inbox[0].correlation_id, 'c-1');
    assert.equal(held.inbox[0].context_box_id, box.box_id);
    assert.deepEqual(held.inbox[0].payload, { ask: 'what is new?' });
    assert.equal((await headOf(requester, 'worker')).status, 'dispatched');

    await worker.ok(held, 'start');
    await worker.ok(held, 'step', { step_id: 's1', phase: 'think', metadata: { timing: { ms: 3 } } });
    await worker.suspend(held, ['call-1', 'call-2']);
    assert.equal((await headOf(requester, 'worker')).status, 'suspended');
    assert.equal(await worker.lease(), undefined, 'nothing to do while tools are waited for');

    assert.equal((await reports(worker.agent, 'worker', held, 'call-1')).status, 202);
    assert.equal((await headOf(requester, 'worker')).status, 'suspended');
    assert.equal((await reports(worker.agent, 'worker', held, 'call-2', { status: 'failed' })).status, 202);
    assert.equal((await headOf(requester, 'worker')).status, 'running');

    const again = await worker.take();
    assert.equal(again.agent_turn_id, id);
    assert.equal(again.turn_epoch, 1, 'going on is no new lease');
    assert.deepEqual(
      again.inbox.map(({ tool_call_id, status }) => [tool_call_id, status]),
      [
        ['call-1', 'success'],
        ['call-2', 'failed'],
      ],
    );
    const shown = await turnOf(requester, id);
    assert.deepEqual(
      shown.waiting.map((call: { status: string }) => call.status),
      ['applied', 'applied'],
    );

    await worker.ok(held, 'step', { step_id: 's2', phase: 'answer' });
    const card = await worker.deliver(held);
    assert.equal((await headOf(requester, 'worker')).status, 'idle');
    const [told, ...more] = await eventually(async () => {
      const events = await taskEvents(requester, id);
      assert.ok(events.length > 0);
      return events;
    });
    assert.equal(more.length, 0);
    const { subject, headers, payload } = told.data;
    assert.equal(subject, 'cg.v1r3.default.public.evt.agent.worker.task');
    assert.equal(payload.status, 'success');
    assert.equal(payload.deliverable_card_id, card);
    assert.equal(payload.stats.steps, 2);
    assert.equal(headers['CG-Recursion-Depth'], '0');
    const ended = await eventually(async () => {
      const turn = await turnOf(requester, id);
      assert.equal(turn.steps.length, 2);
      return turn;
    });
    assert.equal(ended.status, 'success');
    assert.deepEqual(
      ended.steps.map((step: { step_id: string }) => step.step_id),
      ['s1', 's2'],
    );
    const states = (await eventsOf(requester, 'evt.agent.state')).map(({ data }) => data.payload.status);
    assert.deepEqual(states, ['dispatched', 'running', 'suspended', 'running', 'idle']);
  });

  it('runs one turn per agent at a time and leases the next one under the next epoch', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const first = await enqueued(parley.admin, 'worker');
    parley.clock.advance(1);
    const second = await enqueued(parley.admin, 'worker');
    const held = await worker.take();
    assert.equal(held.agent_turn_id, first);
    assert.equal(await worker.lease(), undefined);
    await worker.ok(held, 'start');
    await worker.deliver(held);
    const next = await worker.take();
    assert.equal(next.agent_turn_id, second);
    assert.equal(next.turn_epoch, 2);
  });

  it('leases a turn to one of many workers that ask at once', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker');
    const leases = await Promise.all(Array.from({ length: 20 }, () => worker.lease()));
    assert.equal(leases.filter((lease) => lease !== undefined).length, 1);
  });

  it('wakes a lease call that waits for a turn', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const waiting = worker.take({ wait: 20 });
    const id = await enqueued(parley.admin, 'worker');
    assert.equal((await waiting).agent_turn_id, id);
  });

  it('returns the turn again to the lease whose answer was lost, and to no other lease', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await enqueued(parley.admin, 'worker');
    const held = await worker.take({ lease_id: 'l1' });
    assert.deepEqual(await worker.take({ lease_id: 'l1' }), held);
    assert.equal(await worker.lease({ lease_id: 'l2' }), undefined);
    assert.equal(await worker.lease(), undefined);
    assert.equal(held.agent_turn_id, id);
  });

  it('enqueues one turn per correlation id', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const call = called('worker');
    const [first, second] = [
      await parley.admin.call('POST', '/v1/turns', call),
      await parley.admin.call('POST', '/v1/turns', call),
    ];
    assert.deepEqual([first.status, second.status], [201, 200]);
    assert.deepEqual(first.body, second.body);
    assert.equal(first.body.inbox_id, call.correlation_id);
    const other = await parley.admin.call('POST', '/v1/turns', { ...call, payload: { ask: 'something else' } });
    assert.equal(other.status, 422);
    assert.equal(other.body.code, 'protocol_violation');
    assert.equal(other.body.violated, 'correlation_id');
    await worker.take();
    assert.equal(await worker.lease(), undefined);
  });

  it('rejects a call of another agent under a correlation id that is in use', async (t) => {
    const parley = await testParley(t);
    const requester = await groundAgent(parley, 'requester');
    const intruder = await groundAgent(parley, 'intruder');
    await groundAgent(parley, 'worker');
    const call = called('worker', { correlation_id: 'daily' });
    assert.equal((await requester.call('POST', '/v1/turns', call)).status, 201);
    const reply = await intruder.call('POST', '/v1/turns', call);
    assert.deepEqual([reply.status, reply.body.violated], [422, 'correlation_id'], JSON.stringify(reply.body));
  });

  it('passes user, channel and context of the call headers to the worker', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const headers = { 'cg-user-id': 'u1', 'cg-context-id': 'x', 'cg-other': 'y' };
    const { agent_id: _agent, ...payload } = called('worker');
    const subject = 'cg.v1r3.default.public.cmd.agent.worker.turn';
    await parley.admin.call('POST', '/v1/messages', { subject, headers, payload });
    await parley.admin.call('POST', '/v1/turns', called('worker'), headers);
    for (const how of ['message', 'call']) {
      const held = await worker.begin();
      assert.deepEqual(held.inbox[0].headers, { 'CG-User-ID': 'u1', 'CG-Context-ID': 'x' }, how);
      assert.deepEqual((await turnOf(parley.admin, held.agent_turn_id)).headers, held.inbox[0].headers);
      await worker.deliver(held);
    }
    await enqueued(parley.admin, 'worker');
    assert.equal((await worker.take()).inbox[0].headers, undefined);
  });

  it('applies a suspension once and ignores its repetition, also a late one', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    const waiting = [{ tool_call_id: 'c1', step_id: 's1' }];
    await worker.suspend(held, ['c1']);
    assert.equal((await reports(parley.admin, 'worker', held, 'c1')).status, 202);
    assert.deepEqual((await worker.ok(held, 'suspend', { waiting })).body, { duplicate: true });
    assert.equal((await reports(parley.admin, 'worker', held, 'c1')).body.reason, 'duplicate');
    assert.equal((await worker.take()).inbox[0].tool_call_id, 'c1');
    assert.deepEqual((await worker.ok(held, 'suspend', { waiting })).body, { duplicate: true });
    assert.equal((await headOf(parley.admin, 'worker')).status, 'running');

    const other = await worker.say(held, 'suspend', { waiting: [{ tool_call_id: 'c1', step_id: 's2' }] });
    assert.equal(other.status, 409);
    assert.equal(other.body.code, 'id_reused');
    await worker.suspend(held, ['c2']);
    assert.equal((await reports(parley.admin, 'worker', held, 'c1')).body.reason, 'duplicate');
    const shown = await turnOf(parley.admin, id);
    assert.deepEqual(
      shown.waiting.map((call: { tool_call_id: string; status: string }) => [call.tool_call_id, call.status]),
      [
        ['c1', 'applied'],
        ['c2', 'waiting'],
      ],
    );
  });

  it('rejects writes of a resumed turn until its worker has leased the reports', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    await worker.suspend(held, ['c1']);
    await reports(parley.admin, 'worker', held, 'c1');
    const step = { step_id: 's2', phase: 'think' };
    assert.equal((await worker.say(held, 'step', step)).body.code, 'not_running');
    const waiting = [{ tool_call_id: 'c2', step_id: 's2' }];
    assert.equal((await worker.say(held, 'suspend', { waiting })).body.code, 'not_running');
    assert.equal((await worker.take()).inbox[0].tool_call_id, 'c1');
    await worker.ok(held, 'step', step);
  });

  it('gives a turn to the worker that leased it last, with or without a lease id', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker');
    const held = await worker.take({ lease_id: 'first' });
    await worker.ok(held, 'start');
    await worker.suspend(held, ['c1']);
    await reports(parley.admin, 'worker', held, 'c1');
    assert.equal((await worker.take()).inbox[0].tool_call_id, 'c1');
    assert.equal(await worker.lease({ lease_id: 'first' }), undefined);
  });

  it('rejects more tool calls than the agent state can hold', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    const { records } = parley.parley.deps;
    await records.update(agentStateRef('default', 'worker'), { set: { callCount: 499 } }, 'many');
    const waiting = ['a', 'b'].map((tool_call_id) => ({ tool_call_id, step_id: 's' }));
    const refused = await worker.say(held, 'suspend', { waiting });
    assert.equal(refused.status, 422);
    assert.equal(refused.body.violated, 'waiting');
    await worker.suspend(held, ['a']);
  });

  it('deduplicates repeated starts, steps, suspensions and deliverables', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await enqueued(parley.admin, 'worker');
    const held = await worker.take();
    const twice = async (verb: string, body: object = {}) => {
      assert.equal((await worker.ok(held, verb, body)).body.duplicate, false, verb);
      assert.equal((await worker.ok(held, verb, body)).body.duplicate, true, verb);
    };
    await twice('start');
    await twice('step', { step_id: 's1', phase: 'think' });
    await twice('suspend', { waiting: [{ tool_call_id: 'c1', step_id: 's1' }] });
    await reports(parley.admin, 'worker', held, 'c1');
    const card = await madeCard(worker.agent, 'task.deliverable', { done: true });
    await twice('deliver', { status: 'success', deliverable_card_id: card });
    await eventually(async () => assert.equal((await taskEvents(parley.admin, id)).length, 1));
    assert.equal((await eventsOf(parley.admin, 'evt.agent.step')).length, 1);
  });
});
