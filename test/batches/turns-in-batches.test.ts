import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { parseTrace } from '../../shared/kernel/trace.ts';
import { createTask } from '../../shared/tasks/commands/create-task.ts';
import { enqueueTurn } from '../../shared/turns/lifecycle/enqueue.ts';
import { toRequest } from '../../shared/workflows/deferred/create-pending.ts';
import { assertRefused } from '../http/refusal.ts';
import type { Caller } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { called, enqueued, groundAgent, taskEvents, turnOf, Worker } from '../support/ground.ts';
import { tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const call = (agent: string, more: object = {}, place = 'default.public') => {
  const { agent_id: _agent, ...payload } = called(agent, more);
  return { subject: `cg.v1r3.${place}.cmd.agent.${agent}.turn`, payload };
};

const scene = async (parley: TestParley) => ({
  requester: await groundAgent(parley, 'requester'),
  worker: new Worker(await groundAgent(parley, 'worker')),
  helper: new Worker(await groundAgent(parley, 'helper')),
});

const asked = (caller: Caller, tasks: object[], more: object = {}) =>
  caller.call('POST', '/v1/batches', { batchId: randomUUID(), tasks, ...more });

// biome-ignore lint/suspicious/noExplicitAny: as in Reply
const view = async (caller: Caller, id: string, wait = 0): Promise<any> =>
  (await caller.call('GET', `/v1/batches/${id}?wait=${wait}`)).body;

const statuses = ({ results }: { results: { status: string }[] }): string[] => results.map(({ status }) => status);

describe('batch with turns', () => {
  it('accepts a batch of turns and tasks, and sends its result once when all have ended', async (t) => {
    const parley = await testParley(t);
    const { requester, worker, helper } = await scene(parley);
    const cook = await parley.agent('cook', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    const task = tfRequest({ type: 'parse_recipe', routing: { source: 'requester', target: 'cook' } });
    const reply = await asked(requester, [call('worker', { recursion_depth: 3 }), task, call('helper')]);
    assert.equal(reply.status, 202, JSON.stringify(reply.body));
    const { batchId, results } = reply.body;
    assert.deepEqual(
      results.map(({ kind }: { kind: string }) => kind),
      ['turn', 'task', 'turn'],
    );
    const held = await worker.begin();
    assert.equal(held.agent_turn_id, results[0].id);
    assert.deepEqual([held.inbox[0].from, held.inbox[0].recursion_depth], ['requester', 3]);
    const card = await worker.deliver(held);
    assert.equal((await cook.claim()).length, 1);
    await cook.send({ id: task.id, status: 'completed', result: { cooked: true } });
    assert.equal((await view(requester, batchId)).status, 'open');
    await helper.deliver(await helper.begin(), {}, 'partial');
    const ended = await view(requester, batchId, 20);
    assert.deepEqual([ended.status, statuses(ended)], ['success', ['completed', 'completed', 'completed']]);
    assert.equal(ended.results[0].uri, `/v1/cards/${card}`);
    const [message, ...more] = await requester.inbox(20);
    assert.deepEqual(more, []);
    assert.equal(message.payload.type, 'parley.batch', JSON.stringify(message));
  });

  it('ends a fail-fast batch when a turn fails, and cancels the other turns', async (t) => {
    const parley = await testParley(t);
    const { requester, worker, helper } = await scene(parley);
    const { body } = await asked(requester, [call('worker'), call('helper'), call('helper')], { failFast: true });
    const running = await helper.begin();
    await worker.deliver(await worker.begin(), {}, 'failed');
    const ended = await view(requester, body.batchId, 20);
    assert.deepEqual([ended.status, statuses(ended)], ['failed', ['failed', 'cancelled', 'cancelled']]);
    await eventually(async () =>
      assert.equal((await helper.say(running, 'step', { step_id: 's', phase: 'p' })).body.code, 'stale_turn'),
    );
    await eventually(async () => assert.equal((await turnOf(parley.admin, body.results[2].id)).status, 'canceled'));
    for (const { id } of body.results) {
      await eventually(async () => assert.equal((await taskEvents(parley.admin, id)).length, 1));
    }
  });

  it('ends a batch at its deadline, and cancels the turns that still run', async (t) => {
    const parley = await testParley(t);
    const { requester, worker } = await scene(parley);
    const { body } = await asked(requester, [call('worker'), call('helper')], { deadlineSeconds: 60 });
    await worker.deliver(await worker.begin());
    await eventually(async () =>
      assert.deepEqual(statuses(await view(requester, body.batchId)), ['completed', 'open']),
    );
    parley.clock.advance(60_000);
    const ended = await view(requester, body.batchId, 20);
    assert.deepEqual([ended.status, statuses(ended)], ['timeout', ['completed', 'cancelled']]);
    await eventually(async () => assert.equal((await turnOf(parley.admin, body.results[1].id)).status, 'canceled'));
  });

  it('rejects turns and tasks for a batch that has ended', async (t) => {
    const parley = await testParley(t);
    const { requester, worker } = await scene(parley);
    await parley.agent('cook', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    const { batchId } = (await asked(requester, [call('worker')])).body;
    await worker.deliver(await worker.begin());
    assert.equal((await view(requester, batchId, 20)).status, 'success');
    const { deps } = parley.parley;
    const caller = { project: 'default', role: 'admin' } as const;
    const joins = { batchId: batchId, index: 0 };
    const trace = parseTrace(undefined, undefined);
    const turn = {
      agent: 'worker',
      correlation: 'late',
      mode: 'call',
      channel: 'public',
      trace,
      batchMembership: joins,
    };
    await assert.rejects(enqueueTurn(deps, caller, turn), { code: 'batch_ended' });
    const message = {
      id: randomUUID(),
      type: 'parse_recipe',
      payload: {},
      routing: { source: 'requester', target: 'cook' },
    };
    const request = toRequest(deps, 'requester', { dialect: 'task-format', message });
    await assert.rejects(createTask(deps, caller, 'task-format', { ...request, batchMembership: joins }, trace), {
      code: 'batch_ended',
    });
  });

  // The clock does not advance: a call that waits never returns.
  it('rejects a read of a batch by another agent without waiting', { timeout: 10_000 }, async (t) => {
    const parley = await testParley(t);
    const { requester, worker } = await scene(parley);
    const { batchId } = (await asked(requester, [call('worker')])).body;
    assertRefused(await worker.agent.call('GET', `/v1/batches/${batchId}?wait=25`), 404, 'batch_not_found');
  });

  it('accepts a batch with the same turns once', async (t) => {
    const parley = await testParley(t);
    const { requester, helper } = await scene(parley);
    const [tasks, batchId] = [[call('helper')], randomUUID()];
    assert.equal((await asked(requester, tasks, { batchId })).status, 202);
    assert.equal((await asked(requester, tasks, { batchId })).status, 200);
    await helper.deliver(await helper.begin());
    assert.equal(await helper.lease(), undefined);
  });

  it('creates the turns of an interrupted batch later', async (t) => {
    const parley = await testParley(t);
    const { requester, helper } = await scene(parley);
    const { records } = parley.parley.deps;
    const transact = records.transact.bind(records);
    records.transact = () => Promise.reject(new Error('killed'));
    await asked(requester, [call('helper')], { batchId: 'half-way' });
    records.transact = transact;
    assert.equal(await helper.lease(), undefined);
    assert.equal((await view(requester, 'half-way')).status, 'open');
    parley.clock.advance(30_000);
    await helper.deliver(await eventually(() => helper.begin()));
    assert.equal((await view(requester, 'half-way', 20)).status, 'success');
  });

  it('rejects a batch with an invalid turn as a whole, and creates no turn', async (t) => {
    const parley = await testParley(t);
    const { requester, helper } = await scene(parley);
    await groundAgent(parley, 'inside', { channels: ['public', 't_round'] });
    await enqueued(requester, 'worker', { correlation_id: 'taken' });
    const command = { tool_call_id: 'c', agent_turn_id: 't', turn_epoch: 1, agent_id: 'requester' };
    const twin = call('helper', { correlation_id: 'twin' });
    const refusals: [object[], string, string][] = [
      [[call('nobody')], 'unknown_agent', 'tasks[1]'],
      [[call('inside', {}, 'default.t_round')], 'channel_forbidden', 'tasks[1]'],
      [[call('helper', {}, 'elsewhere.public')], 'protocol_violation', 'tasks[1].subject'],
      [[call('helper', { mode: 'notify' })], 'protocol_violation', 'tasks[1]'],
      [[call('helper', { recursion_depth: 20 })], 'recursion_depth_exceeded', 'tasks[1]'],
      [[call('helper', { recursion_depth: -1 })], 'protocol_violation', 'tasks[1].recursion_depth'],
      [[call('helper', { context_box_id: 'box_1' })], 'unknown_box', 'tasks[1]'],
      [[call('helper', { correlation_id: 'taken' })], 'protocol_violation', 'tasks[1]'],
      [[twin, twin], 'id_reused', 'tasks[2]'],
      [[{ subject: 'cg.v1r3.default.public.cmd.tool.helper.do', payload: command }], 'protocol_violation', 'tasks[1]'],
      [
        [{ ...call('helper'), subject: 'cg.v1r3.default.public.cmd.agent.*.turn' }],
        'protocol_violation',
        'tasks[1].subject',
      ],
    ];
    for (const [tasks, code, path] of refusals) {
      const { status, body } = await asked(requester, [call('helper'), ...tasks]);
      assert.ok([403, 409, 422].includes(status), JSON.stringify(body));
      assert.deepEqual([body.code, body.issues[0].path], [code, path], JSON.stringify(body));
    }
    assert.equal(await helper.lease(), undefined);
  });
});

describe('batch result', () => {
  it('stores a batch result as a card if it is too large for a message', async (t) => {
    const parley = await testParley(t);
    const requester = await groundAgent(parley, 'requester');
    const cook = await parley.agent('cook', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    const tasks = Array.from({ length: 20 }, () =>
      tfRequest({ type: 'parse_recipe', routing: { source: 'requester', target: 'cook' } }),
    );
    const { body } = await asked(requester, tasks);
    for (const { id } of tasks)
      await cook.send({ id, status: 'completed', result: { text: randomBytes(2000).toString('hex') } });
    const ended = await view(requester, body.batchId, 20);
    assert.equal(ended.status, 'success');
    const [message] = await requester.inbox(20);
    const { bytes, uri } = message.payload.content;
    assert.ok(bytes > 80_000);
    assert.deepEqual((await requester.call('GET', uri)).body.content, ended);
  });
});
