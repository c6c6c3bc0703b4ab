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
  arthur: await groundAgent(parley, 'arthur'),
  merlin: new Worker(await groundAgent(parley, 'merlin')),
  kay: new Worker(await groundAgent(parley, 'kay')),
});

const asked = (caller: Caller, tasks: object[], more: object = {}) =>
  caller.call('POST', '/v1/batches', { batchId: randomUUID(), tasks, ...more });

// biome-ignore lint/suspicious/noExplicitAny: as in Reply
const view = async (caller: Caller, id: string, wait = 0): Promise<any> =>
  (await caller.call('GET', `/v1/batches/${id}?wait=${wait}`)).body;

const statuses = ({ results }: { results: { status: string }[] }): string[] => results.map(({ status }) => status);

describe('a batch', () => {
  it('takes turns beside tasks, and is told once when all have ended', async (t) => {
    const parley = await testParley(t);
    const { arthur, merlin, kay } = await scene(parley);
    const cook = await parley.agent('cook', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    const task = tfRequest({ type: 'parse_recipe', routing: { source: 'arthur', target: 'cook' } });
    const reply = await asked(arthur, [call('merlin', { recursion_depth: 3 }), task, call('kay')]);
    assert.equal(reply.status, 202, JSON.stringify(reply.body));
    const { batchId, results } = reply.body;
    assert.deepEqual(
      results.map(({ kind }: { kind: string }) => kind),
      ['turn', 'task', 'turn'],
    );
    const held = await merlin.begin();
    assert.equal(held.agent_turn_id, results[0].id);
    assert.deepEqual([held.inbox[0].from, held.inbox[0].recursion_depth], ['arthur', 3]);
    const card = await merlin.deliver(held);
    assert.equal((await cook.claim()).length, 1);
    await cook.send({ id: task.id, status: 'completed', result: { cooked: true } });
    assert.equal((await view(arthur, batchId)).status, 'open');
    await kay.deliver(await kay.begin(), {}, 'partial');
    const ended = await view(arthur, batchId, 20);
    assert.deepEqual([ended.status, statuses(ended)], ['success', ['completed', 'completed', 'completed']]);
    assert.equal(ended.results[0].uri, `/v1/cards/${card}`);
    const [message, ...more] = await arthur.inbox(20);
    assert.deepEqual(more, []);
    assert.equal(message.payload.type, 'parley.batch', JSON.stringify(message));
  });

  it('tells of a turn that failed why, and stops the others where it fails fast', async (t) => {
    const parley = await testParley(t);
    const { arthur, merlin, kay } = await scene(parley);
    const { body } = await asked(arthur, [call('merlin'), call('kay'), call('kay')], { failFast: true });
    const running = await kay.begin();
    await merlin.deliver(await merlin.begin(), {}, 'failed');
    const ended = await view(arthur, body.batchId, 20);
    assert.deepEqual([ended.status, statuses(ended)], ['failed', ['failed', 'cancelled', 'cancelled']]);
    await eventually(async () =>
      assert.equal((await kay.say(running, 'step', { step_id: 's', phase: 'p' })).body.code, 'stale_turn'),
    );
    await eventually(async () => assert.equal((await turnOf(parley.admin, body.results[2].id)).status, 'canceled'));
    for (const { id } of body.results) {
      await eventually(async () => assert.equal((await taskEvents(parley.admin, id)).length, 1));
    }
  });

  it('ends at its deadline, and stops the turns that still run', async (t) => {
    const parley = await testParley(t);
    const { arthur, merlin } = await scene(parley);
    const { body } = await asked(arthur, [call('merlin'), call('kay')], { deadlineSeconds: 60 });
    await merlin.deliver(await merlin.begin());
    await eventually(async () => assert.deepEqual(statuses(await view(arthur, body.batchId)), ['completed', 'open']));
    parley.clock.advance(60_000);
    const ended = await view(arthur, body.batchId, 20);
    assert.deepEqual([ended.status, statuses(ended)], ['timeout', ['completed', 'cancelled']]);
    await eventually(async () => assert.equal((await turnOf(parley.admin, body.results[1].id)).status, 'canceled'));
  });

  it('takes neither turns nor tasks once it has ended, and says so of both alike', async (t) => {
    const parley = await testParley(t);
    const { arthur, merlin } = await scene(parley);
    await parley.agent('cook', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    const { batchId } = (await asked(arthur, [call('merlin')])).body;
    await merlin.deliver(await merlin.begin());
    assert.equal((await view(arthur, batchId, 20)).status, 'success');
    const { deps } = parley.parley;
    const caller = { project: 'default', role: 'admin' } as const;
    const joins = { batchId: batchId, index: 0 };
    const trace = parseTrace(undefined, undefined);
    const turn = {
      agent: 'merlin',
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
      routing: { source: 'arthur', target: 'cook' },
    };
    const request = toRequest(deps, 'arthur', { dialect: 'task-format', message });
    await assert.rejects(createTask(deps, caller, 'task-format', { ...request, batchMembership: joins }, trace), {
      code: 'batch_ended',
    });
  });

  // The clock stands still: whoever waits, waits for ever.
  it('is not there for others, who are told so without any waiting', { timeout: 10_000 }, async (t) => {
    const parley = await testParley(t);
    const { arthur, merlin } = await scene(parley);
    const { batchId } = (await asked(arthur, [call('merlin')])).body;
    assertRefused(await merlin.agent.call('GET', `/v1/batches/${batchId}?wait=25`), 404, 'batch_not_found');
  });

  it('with the same turns again is the same batch', async (t) => {
    const parley = await testParley(t);
    const { arthur, kay } = await scene(parley);
    const [tasks, batchId] = [[call('kay')], randomUUID()];
    assert.equal((await asked(arthur, tasks, { batchId })).status, 202);
    assert.equal((await asked(arthur, tasks, { batchId })).status, 200);
    await kay.deliver(await kay.begin());
    assert.equal(await kay.lease(), undefined);
  });

  it('whose maker dies half-way gets its turns a little later', async (t) => {
    const parley = await testParley(t);
    const { arthur, kay } = await scene(parley);
    const { records } = parley.parley.deps;
    const transact = records.transact.bind(records);
    records.transact = () => Promise.reject(new Error('killed'));
    await asked(arthur, [call('kay')], { batchId: 'half-way' });
    records.transact = transact;
    assert.equal(await kay.lease(), undefined);
    assert.equal((await view(arthur, 'half-way')).status, 'open');
    parley.clock.advance(30_000);
    await kay.deliver(await eventually(() => kay.begin()));
    assert.equal((await view(arthur, 'half-way', 20)).status, 'success');
  });

  it('is refused as a whole where one of its turns would be, and nothing is begun', async (t) => {
    const parley = await testParley(t);
    const { arthur, kay } = await scene(parley);
    await groundAgent(parley, 'inside', { channels: ['public', 't_round'] });
    await enqueued(arthur, 'merlin', { correlation_id: 'taken' });
    const command = { tool_call_id: 'c', agent_turn_id: 't', turn_epoch: 1, agent_id: 'arthur' };
    const twin = call('kay', { correlation_id: 'twin' });
    const refusals: [object[], string, string][] = [
      [[call('nobody')], 'unknown_agent', 'tasks[1]'],
      [[call('inside', {}, 'default.t_round')], 'channel_forbidden', 'tasks[1]'],
      [[call('kay', {}, 'elsewhere.public')], 'protocol_violation', 'tasks[1].subject'],
      [[call('kay', { mode: 'notify' })], 'protocol_violation', 'tasks[1]'],
      [[call('kay', { recursion_depth: 20 })], 'recursion_depth_exceeded', 'tasks[1]'],
      [[call('kay', { recursion_depth: -1 })], 'protocol_violation', 'tasks[1].recursion_depth'],
      [[call('kay', { context_box_id: 'box_1' })], 'unknown_box', 'tasks[1]'],
      [[call('kay', { correlation_id: 'taken' })], 'protocol_violation', 'tasks[1]'],
      [[twin, twin], 'id_reused', 'tasks[2]'],
      [[{ subject: 'cg.v1r3.default.public.cmd.tool.kay.do', payload: command }], 'protocol_violation', 'tasks[1]'],
      [
        [{ ...call('kay'), subject: 'cg.v1r3.default.public.cmd.agent.*.turn' }],
        'protocol_violation',
        'tasks[1].subject',
      ],
    ];
    for (const [tasks, code, path] of refusals) {
      const { status, body } = await asked(arthur, [call('kay'), ...tasks]);
      assert.ok([403, 409, 422].includes(status), JSON.stringify(body));
      assert.deepEqual([body.code, body.issues[0].path], [code, path], JSON.stringify(body));
    }
    assert.equal(await kay.lease(), undefined);
  });
});

describe('how a batch ended', () => {
  it('is a card for a reader whose messages have no room for it', async (t) => {
    const parley = await testParley(t);
    const arthur = await groundAgent(parley, 'arthur');
    const cook = await parley.agent('cook', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    const tasks = Array.from({ length: 20 }, () =>
      tfRequest({ type: 'parse_recipe', routing: { source: 'arthur', target: 'cook' } }),
    );
    const { body } = await asked(arthur, tasks);
    for (const { id } of tasks)
      await cook.send({ id, status: 'completed', result: { text: randomBytes(2000).toString('hex') } });
    const ended = await view(arthur, body.batchId, 20);
    assert.equal(ended.status, 'success');
    const [message] = await arthur.inbox(20);
    const { bytes, uri } = message.payload.content;
    assert.ok(bytes > 80_000);
    assert.deepEqual((await arthur.call('GET', uri)).body.content, ended);
  });
});
