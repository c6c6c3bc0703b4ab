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
    const merlin = await groundAgent(parley, 'merlin');
    const knights = await Promise.all(
      ['bors', 'gareth', 'kay'].map(async (id) => new Worker(await groundAgent(parley, id))),
    );
    const worker = new Worker(merlin);
    await enqueued(parley.admin, 'merlin', { recursion_depth: depth });
    const held = await worker.begin();
    await worker.suspend(held, ['fork'], { deadline_seconds: 3600 });
    const tasks = knights.map(({ agent }) => ({
      target_strategy: 'reuse',
      target_ref: agent.id,
      instruction: `go, ${agent.id}`,
    }));
    const card = await madeCard(merlin, 'tool.call', { args: { tasks, ...more } });
    const reply = await merlin.send(internal('fork_join', 'merlin', held, 'fork', card));
    assert.equal(reply.status, 202, JSON.stringify(reply.body));
    return { worker, knights, held };
  };

  const statuses = (result: { results: { status: string }[] }) => result.results.map(({ status }) => status);

  it('ends with success when all have, and gives each of them one level more', async (t) => {
    const parley = await testParley(t);
    const { worker, knights } = await fork(parley, {}, 4);
    for (const knight of knights) {
      const held = await knight.begin();
      assert.equal(held.inbox[0].recursion_depth, 5);
      assert.equal(held.inbox[0].payload.instruction, `go, ${knight.agent.id}`);
      await knight.deliver(held, { found: knight.agent.id });
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

  it('tells of each in a few words what its deliverable says', async (t) => {
    const parley = await testParley(t);
    const { worker, knights } = await fork(parley);
    const [bors, gareth, kay] = knights;
    assert.ok(bors && gareth && kay);
    await bors.deliver(await bors.begin(), { summary: 'found it', bulk: 'x'.repeat(20_000) });
    await gareth.deliver(await gareth.begin(), { summary: 's'.repeat(5000) });
    await kay.deliver(await kay.begin(), { summary: { no: 'text' } });
    const { results } = (await resultOf(worker)).result;
    assert.deepEqual(
      results.map((one: { summary?: string }) => one.summary),
      ['found it', 's'.repeat(2000), undefined],
    );
  });

  it('has its edges: that it was asked to join at the depth of its turn, and that it did', async (t) => {
    const parley = await testParley(t);
    const { worker, knights, held } = await fork(parley, {}, 4);
    const edge = (phase: 'request' | 'response') =>
      parley.parley.deps.records.get(
        correlationRef('default', toToolCallTaskId(held.agent_turn_id, 'fork'), 'join', phase),
      );
    await eventually(async () => assert.equal((await edge('request'))?.depth, 4));
    assert.equal(await edge('response'), undefined);
    for (const knight of knights) await knight.deliver(await knight.begin());
    await resultOf(worker);
    await eventually(async () => assert.equal((await edge('response'))?.turn, held.agent_turn_id));
    assert.equal((await edge('response'))?.depth, 4);
  });

  it('leaves nothing of long instructions behind, once every turn has its own', async (t) => {
    const parley = await testParley(t);
    const blobs = join(parley.dir, 'blobs');
    mkdirSync(blobs, { recursive: true });
    const kept = () => readdirSync(blobs, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const instruction = 'go '.repeat(2000);
    const { knights } = await fork(parley, {
      tasks: [{ target_strategy: 'reuse', target_ref: 'kay', instruction }],
    });
    const held = await knights[2]?.begin();
    assert.equal(held?.inbox[0].payload.instruction, instruction);
    await eventually(() => assert.deepEqual(kept(), []));
  });

  it('tells of each as it ended itself', async (t) => {
    const parley = await testParley(t);
    const { worker, knights } = await fork(parley);
    const ends = ['success', 'partial', 'timeout'];
    for (const [at, knight] of knights.entries()) await knight.deliver(await knight.begin(), {}, ends[at]);
    assert.deepEqual(statuses((await resultOf(worker)).result), ends);
  });

  it('ends partial when some have failed, and failed when all have', async (t) => {
    for (const [ends, expected] of [
      [['success', 'failed', 'success'], 'partial'],
      [['failed', 'failed', 'failed'], 'failed'],
    ] as const) {
      const parley = await testParley(t);
      const { worker, knights } = await fork(parley);
      for (const [at, knight] of knights.entries()) await knight.deliver(await knight.begin(), {}, ends[at]);
      const { status, result } = await resultOf(worker);
      assert.equal(status, expected);
      assert.deepEqual(statuses(result), ends);
    }
  });

  it('fails fast: the first failure stops the running and cancels the rest', async (t) => {
    const parley = await testParley(t);
    const { worker, knights } = await fork(parley, { fail_fast: true });
    const [bors, gareth, kay] = knights;
    assert.ok(bors && gareth && kay);
    const running = await gareth.begin();
    await bors.deliver(await bors.begin(), {}, 'failed');
    const { status, result } = await resultOf(worker);
    assert.equal(status, 'failed');
    assert.deepEqual(statuses(result), ['failed', 'canceled', 'canceled']);
    await eventually(async () =>
      assert.equal((await gareth.say(running, 'step', { step_id: 's', phase: 'p' })).body.code, 'stale_turn'),
    );
    await eventually(async () => assert.equal(await kay.lease(), undefined));
  });

  it('times out at its deadline, and stops what still runs', async (t) => {
    const parley = await testParley(t);
    const { worker, knights } = await fork(parley, { deadline_seconds: 60 });
    const [bors, gareth] = knights;
    assert.ok(bors && gareth);
    await bors.deliver(await bors.begin());
    const running = await gareth.begin();
    await eventually(async () => assert.equal((await headOf(parley.admin, 'bors')).status, 'idle'));
    parley.clock.advance(30_000);
    await gareth.ok(running, 'step', { step_id: 's', phase: 'p' });
    await eventually(() => parley.clock.advance(1_000));
    parley.clock.advance(30_000);
    const { status, result } = await resultOf(worker);
    assert.equal(status, 'timeout');
    assert.deepEqual(statuses(result), ['success', 'canceled', 'canceled']);
  });

  it('counts a child whose worker dies as failed', async (t) => {
    const parley = await testParley(t);
    const { worker, knights } = await fork(parley);
    const [bors, gareth, kay] = knights;
    assert.ok(bors && gareth && kay);
    await bors.begin();
    await gareth.deliver(await gareth.begin());
    await kay.deliver(await kay.begin());
    parley.clock.advance(parley.parley.deps.config.turns.heartbeatTimeoutMs + 20_000);
    const { status, result } = await resultOf(worker);
    assert.equal(status, 'partial');
    assert.deepEqual(statuses(result), ['failed', 'success', 'success']);
    assert.equal(result.results[0].error_code, 'reaped');
  });

  it('asks an agent that speaks another protocol itself, though others have its capability', async (t) => {
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

  it('refuses what it does not know, too many tasks and none', async (t) => {
    const parley = await testParley(t);
    const merlin = await groundAgent(parley, 'merlin');
    const worker = new Worker(merlin);
    await enqueued(parley.admin, 'merlin');
    const held = await worker.begin();
    await worker.suspend(held, ['fork']);
    const task = { target_strategy: 'reuse', target_ref: 'merlin', instruction: 'x' };
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
      const card = await madeCard(merlin, 'tool.call', { args });
      const { body } = await merlin.send(internal('fork_join', 'merlin', held, 'fork', card));
      assert.equal(body.code, 'protocol_violation', JSON.stringify(args));
    }
    const other = await merlin.send(internal('explode', 'merlin', held, 'fork', 'card'));
    assert.equal(other.body.code, 'protocol_violation');
    assert.equal((await headOf(merlin, 'merlin')).status, 'suspended');
  });

  it('of a turn that is stopped stops its children', async (t) => {
    const parley = await testParley(t);
    const { knights, held } = await fork(parley);
    const [bors] = knights;
    assert.ok(bors);
    const running = await bors.begin();
    await parley.admin.call('POST', `/v1/turns/${held.agent_turn_id}/stop`, { turn_epoch: held.turn_epoch });
    await eventually(async () => assert.equal((await turnOf(parley.admin, running.agent_turn_id)).status, 'canceled'));
  });
});
