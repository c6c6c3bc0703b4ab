import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { correlationRef } from '../../shared/model/correlation.ts';
import { toToolCallTaskId } from '../../shared/model/tool-call.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, headOf, internal, madeCard, resultOf, turnOf, Worker } from '../support/ground.ts';
import { taskFormat } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

describe('fork_join', () => {
  const fork = async (parley: TestParley, more: object = {}, depth = 0) => {
    const caller = await groundAgent(parley, 'caller');
    const children = await Promise.all(
      ['first-child', 'second-child', 'third-child'].map(async (id) => new Worker(await groundAgent(parley, id))),
    );
    const worker = new Worker(caller);
    await enqueued(parley.admin, 'caller', { recursion_depth: depth });
    const held = await worker.begin();
    await worker.suspend(held, ['fork'], { deadline_seconds: 3600 });
    const tasks = children.map(({ agent }) => ({
      target_strategy: 'reuse',
      target_ref: agent.id,
      instruction: `go, ${agent.id}`,
    }));
    const card = await madeCard(caller, 'tool.call', { args: { tasks, ...more } });
    const reply = await caller.send(internal('fork_join', 'caller', held, 'fork', card));
    assert.equal(reply.status, 202, JSON.stringify(reply.body));
    return { worker, children, held };
  };

  const statuses = (result: { results: { status: string }[] }) => result.results.map(({ status }) => status);

  it('ends a fork_join with success when all children succeed, and runs them one level deeper', async (t) => {
    const parley = await testParley(t);
    const { worker, children } = await fork(parley, {}, 4);
    for (const child of children) {
      const held = await child.begin();
      assert.equal(held.inbox[0].recursion_depth, 5);
      assert.equal(held.inbox[0].payload.instruction, `go, ${child.agent.id}`);
      await child.deliver(held, { found: child.agent.id });
    }
    const { status, result } = await resultOf(worker);
    assert.equal(status, 'success');
    assert.deepEqual(statuses(result), ['success', 'success', 'success']);
    assert.deepEqual(
      result.results.map((one: { task_index: number }) => one.task_index),
      [0, 1, 2],
    );
    assert.ok(result.results[0].deliverable_card_id);
  });

  it('summarises the deliverable of each child in the result of a fork_join', async (t) => {
    const parley = await testParley(t);
    const { worker, children } = await fork(parley);
    const [firstChild, secondChild, thirdChild] = children;
    assert.ok(firstChild && secondChild && thirdChild);
    await firstChild.deliver(await firstChild.begin(), { summary: 'found it', bulk: 'x'.repeat(20_000) });
    await secondChild.deliver(await secondChild.begin(), { summary: 's'.repeat(5000) });
    await thirdChild.deliver(await thirdChild.begin(), { summary: { no: 'text' } });
    const { results } = (await resultOf(worker)).result;
    assert.deepEqual(
      results.map((one: { summary?: string }) => one.summary),
      ['found it', 's'.repeat(2000), undefined],
    );
  });

  it('records the request of a fork_join at the depth of its turn, and its response', async (t) => {
    const parley = await testParley(t);
    const { worker, children, held } = await fork(parley, {}, 4);
    const edge = (phase: 'request' | 'response') =>
      parley.parley.deps.records.get(
        correlationRef('default', toToolCallTaskId(held.agent_turn_id, 'fork'), 'join', phase),
      );
    await eventually(async () => assert.equal((await edge('request'))?.depth, 4));
    assert.equal(await edge('response'), undefined);
    for (const child of children) await child.deliver(await child.begin());
    await resultOf(worker);
    await eventually(async () => assert.equal((await edge('response'))?.turn, held.agent_turn_id));
    assert.equal((await edge('response'))?.depth, 4);
  });

  it('deletes the blobs of long instructions once every child turn has its own', async (t) => {
    const parley = await testParley(t);
    const blobs = join(parley.dir, 'blobs');
    mkdirSync(blobs, { recursive: true });
    const kept = () => readdirSync(blobs, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const instruction = 'go '.repeat(2000);
    const { children } = await fork(parley, {
      tasks: [{ target_strategy: 'reuse', target_ref: 'third-child', instruction }],
    });
    const held = await children[2]?.begin();
    assert.equal(held?.inbox[0].payload.instruction, instruction);
    await eventually(() => assert.deepEqual(kept(), []));
  });

  it('reports each child of a fork_join with its own status', async (t) => {
    const parley = await testParley(t);
    const { worker, children } = await fork(parley);
    const ends = ['success', 'partial', 'timeout'];
    for (const [at, child] of children.entries()) await child.deliver(await child.begin(), {}, ends[at]);
    assert.deepEqual(statuses((await resultOf(worker)).result), ends);
  });

  it('ends a fork_join partial when some children fail and failed when all fail', async (t) => {
    for (const [ends, expected] of [
      [['success', 'failed', 'success'], 'partial'],
      [['failed', 'failed', 'failed'], 'failed'],
    ] as const) {
      const parley = await testParley(t);
      const { worker, children } = await fork(parley);
      for (const [at, child] of children.entries()) await child.deliver(await child.begin(), {}, ends[at]);
      const { status, result } = await resultOf(worker);
      assert.equal(status, expected);
      assert.deepEqual(statuses(result), ends);
    }
  });

  it('stops running children and cancels the rest on the first failure of a fork_join with fail_fast', async (t) => {
    const parley = await testParley(t);
    const { worker, children } = await fork(parley, { fail_fast: true });
    const [firstChild, secondChild, thirdChild] = children;
    assert.ok(firstChild && secondChild && thirdChild);
    const running = await secondChild.begin();
    await firstChild.deliver(await firstChild.begin(), {}, 'failed');
    const { status, result } = await resultOf(worker);
    assert.equal(status, 'failed');
    assert.deepEqual(statuses(result), ['failed', 'canceled', 'canceled']);
    await eventually(async () =>
      assert.equal((await secondChild.say(running, 'step', { step_id: 's', phase: 'p' })).body.code, 'stale_turn'),
    );
    await eventually(async () => assert.equal(await thirdChild.lease(), undefined));
  });

  it('times out a fork_join at its deadline and stops the children that still run', async (t) => {
    const parley = await testParley(t);
    const { worker, children } = await fork(parley, { deadline_seconds: 60 });
    const [firstChild, secondChild] = children;
    assert.ok(firstChild && secondChild);
    await firstChild.deliver(await firstChild.begin());
    const running = await secondChild.begin();
    await eventually(async () => assert.equal((await headOf(parley.admin, 'first-child')).status, 'idle'));
    parley.clock.advance(30_000);
    await secondChild.ok(running, 'step', { step_id: 's', phase: 'p' });
    await eventually(() => parley.clock.advance(1_000));
    parley.clock.advance(30_000);
    const { status, result } = await resultOf(worker);
    assert.equal(status, 'timeout');
    assert.deepEqual(statuses(result), ['success', 'canceled', 'canceled']);
  });

  it('counts a child of a fork_join whose worker dies as failed', async (t) => {
    const parley = await testParley(t);
    const { worker, children } = await fork(parley);
    const [firstChild, secondChild, thirdChild] = children;
    assert.ok(firstChild && secondChild && thirdChild);
    await firstChild.begin();
    await secondChild.deliver(await secondChild.begin());
    await thirdChild.deliver(await thirdChild.begin());
    parley.clock.advance(parley.parley.deps.config.turns.heartbeatTimeoutMs + 20_000);
    const { status, result } = await resultOf(worker);
    assert.equal(status, 'partial');
    assert.deepEqual(statuses(result), ['failed', 'success', 'success']);
    assert.equal(result.results[0].error_code, 'reaped');
  });

  it('calls the named agent of another dialect itself although other agents have its capabilities', async (t) => {
    const parley = await testParley(t);
    const cook = await parley.agent('cook', { ...taskFormat, capabilities: ['chefs'] });
    await parley.agent('another', { ...taskFormat, capabilities: ['chefs'] });
    const tasks = ['new', 'clone'].map((target_strategy) => ({
      target_strategy,
      target_ref: 'cook',
      instruction: 'soup',
    }));
    const { worker } = await fork(parley, { tasks });
    const claimed = await eventually(async () => {
      const found = await cook.claim({ max: 2 });
      assert.equal(found.length, 2);
      return found;
    });
    for (const { message } of claimed) await cook.send({ id: message.id, status: 'completed', result: { done: true } });
    assert.deepEqual(statuses((await resultOf(worker)).result), ['success', 'success']);
  });

  it('rejects a fork_join with unknown fields, with too many tasks or with none', async (t) => {
    const parley = await testParley(t);
    const caller = await groundAgent(parley, 'caller');
    const worker = new Worker(caller);
    await enqueued(parley.admin, 'caller');
    const held = await worker.begin();
    await worker.suspend(held, ['fork']);
    const task = { target_strategy: 'reuse', target_ref: 'caller', instruction: 'x' };
    const wrong = [
      { tasks: [] },
      { tasks: Array.from({ length: 9 }, () => task) },
      { tasks: [task], extra: 1 },
      { tasks: [{ ...task, extra: 1 }] },
      { tasks: [{ ...task, target_strategy: 'other' }] },
      { tasks: [{ ...task, instruction: undefined }] },
      { tasks: [task], deadline_seconds: 0 },
    ];
    for (const args of wrong) {
      const card = await madeCard(caller, 'tool.call', { args });
      const { body } = await caller.send(internal('fork_join', 'caller', held, 'fork', card));
      assert.equal(body.code, 'protocol_violation', JSON.stringify(args));
    }
    const other = await caller.send(internal('explode', 'caller', held, 'fork', 'card'));
    assert.equal(other.body.code, 'protocol_violation');
    assert.equal((await headOf(caller, 'caller')).status, 'suspended');
  });

  it('stops the children of a fork_join when its turn is stopped', async (t) => {
    const parley = await testParley(t);
    const { children, held } = await fork(parley);
    const [firstChild] = children;
    assert.ok(firstChild);
    const running = await firstChild.begin();
    await parley.admin.call('POST', `/v1/turns/${held.agent_turn_id}/stop`, { turn_epoch: held.turn_epoch });
    await eventually(async () => assert.equal((await turnOf(parley.admin, running.agent_turn_id)).status, 'canceled'));
  });
});
