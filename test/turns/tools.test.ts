import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Caller, TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, type Held, headOf, madeCard, reports, turnOf, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const SUBJECT = 'cg.v1r3.default.public.cmd.tool.search.execute';

const command = (agent: string, { agent_turn_id, turn_epoch }: Held, call: string, more: object = {}) => ({
  subject: SUBJECT,
  headers: { 'CG-Recursion-Depth': '0', 'CG-User-ID': 'u1' },
  payload: { tool_call_id: call, agent_turn_id, turn_epoch, agent_id: agent, tool_name: 'web_search', ...more },
});

const registerTool = async (admin: Caller, more: object = {}) => {
  const reply = await admin.call('PUT', '/v1/tools/web_search', { target_subject: 'cmd.tool.search.execute', ...more });
  assert.ok([200, 201].includes(reply.status), JSON.stringify(reply.body));
};

/** A turn that waits for the call, and the tool's service. */
const scene = async (parley: TestParley, calls = ['c1'], service: object = {}) => {
  await registerTool(parley.admin, service);
  const merlin = await groundAgent(parley, 'merlin');
  const search = await groundAgent(parley, 'search');
  const worker = new Worker(merlin);
  const id = await enqueued(parley.admin, 'merlin');
  const held = await worker.begin();
  await worker.suspend(held, calls, { deadline_seconds: 600 });
  return { worker, merlin, search, held, id };
};

const accepted = async (agent: TestAgent, message: object) => {
  const reply = await agent.send(message);
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  return reply.body;
};

describe('a tool command', () => {
  it('goes to the service of its subject as it was sent, and its report brings the turn on', async (t) => {
    const parley = await testParley(t);
    const { worker, merlin, search, held } = await scene(parley);
    const card = await madeCard(merlin, 'tool.call', { args: { q: 'grail' } });
    const sent = command('merlin', held, 'c1', { tool_call_card_id: card });
    await accepted(merlin, sent);
    const [claimed] = await search.claim();
    assert.equal(claimed.message.subject, SUBJECT);
    assert.deepEqual(claimed.message.payload, sent.payload);
    const { headers } = claimed.message;
    assert.equal(headers['CG-Recursion-Depth'], '0');
    assert.equal(headers['CG-User-ID'], 'u1');
    assert.equal(headers['CG-Sender'], 'merlin');
    assert.equal(headers['CG-Version'], 'v1r3');
    assert.match(headers.traceparent, /^00-/);
    assert.equal((await reports(search, 'merlin', held, 'c1')).status, 202);
    assert.equal((await worker.take()).inbox[0].tool_call_id, 'c1');
    await eventually(async () => assert.deepEqual(await search.claim(), []));
  });

  it('may be reported on by a message too, as on NATS', async (t) => {
    const parley = await testParley(t);
    const { merlin, search, held } = await scene(parley);
    await accepted(merlin, command('merlin', held, 'c1'));
    const { payload } = (await search.claim())[0].message;
    const tool_result_card_id = await madeCard(search, 'tool.result', { status: 'success', result: 1 });
    await accepted(search, {
      subject: 'cg.v1r3.default.public.cmd.agent.merlin.tool_result',
      headers: { 'CG-Recursion-Depth': 0 },
      payload: { ...payload, after_execution: 'suspend', status: 'success', tool_result_card_id },
    });
    assert.equal((await headOf(merlin, 'merlin')).status, 'running');
  });

  it('may be served by an agent of any protocol, whose result becomes the card of the report', async (t) => {
    const parley = await testParley(t);
    await registerTool(parley.admin);
    const merlin = await groundAgent(parley, 'merlin');
    const search = await parley.agent('search', { dialect: 'round-table', capabilities: [] });
    const worker = new Worker(merlin);
    await enqueued(parley.admin, 'merlin');
    const held = await worker.begin();
    await worker.suspend(held, ['c1', 'c2']);
    await accepted(merlin, command('merlin', held, 'c1'));
    await accepted(merlin, command('merlin', held, 'c2'));
    const [first] = await search.claim();
    await search.complete(first.message.id, { hits: 3 });
    const [second] = await search.claim();
    await search.fail(second.message.id, { error: 'invalid_params', message: 'no such index' });
    await eventually(async () => assert.equal((await headOf(merlin, 'merlin')).status, 'running'));
    const { inbox } = await worker.take();
    const found = await Promise.all(
      inbox.map(async ({ status, tool_result_card_id }) => {
        const { body } = await merlin.call('GET', `/v1/cards/${tool_result_card_id}`);
        return [status, body.content.result, body.content.error];
      }),
    );
    assert.deepEqual(
      found.toSorted(([a], [b]) => String(b).localeCompare(String(a))),
      [
        ['success', { hits: 3 }, undefined],
        ['failed', null, 'no such index'],
      ],
    );
  });

  it('ends the turn where the result of any protocol says so', async (t) => {
    const parley = await testParley(t);
    await registerTool(parley.admin);
    const merlin = await groundAgent(parley, 'merlin');
    const search = await parley.agent('search', { dialect: 'round-table', capabilities: [] });
    const worker = new Worker(merlin);
    const id = await enqueued(parley.admin, 'merlin');
    const held = await worker.begin();
    await worker.suspend(held, ['c1']);
    await accepted(merlin, command('merlin', held, 'c1'));
    const [claimed] = await search.claim();
    await search.complete(claimed.message.id, { __cg_control: { after_execution: 'terminate' } });
    await eventually(async () => assert.equal((await turnOf(parley.admin, id)).status, 'success'));
  });

  it('has a deadline, after which a timeout report is written', async (t) => {
    const parley = await testParley(t);
    const { worker, merlin, held } = await scene(parley, ['c1'], { options: { deadline_seconds: 20 } });
    await accepted(merlin, command('merlin', held, 'c1'));
    parley.clock.advance(19_000);
    assert.equal((await headOf(merlin, 'merlin')).status, 'suspended');
    parley.clock.advance(1001);
    await eventually(async () => assert.equal((await headOf(merlin, 'merlin')).status, 'running'));
    const [row] = (await worker.take()).inbox;
    assert.equal(row.message_type, 'timeout');
    assert.equal(row.status, 'timeout');
  });

  it('is stopped when its turn ends', async (t) => {
    const parley = await testParley(t);
    const { merlin, search, held, id } = await scene(parley);
    await accepted(merlin, command('merlin', held, 'c1'));
    await parley.admin.call('POST', `/v1/turns/${id}/stop`, { turn_epoch: held.turn_epoch });
    await eventually(async () => assert.deepEqual(await search.claim(), []));
  });

  it('is refused, without any effect, from a turn that is stale, for another agent, or before the turn waits for it', async (t) => {
    const parley = await testParley(t);
    const { merlin, search, held } = await scene(parley);
    const refusals: [object, string][] = [
      [command('merlin', { ...held, turn_epoch: 9 }, 'c1'), 'stale_turn'],
      [command('merlin', { ...held, agent_turn_id: 'turn_x' }, 'c1'), 'stale_turn'],
      [command('search', held, 'c1'), 'from_mismatch'],
      [command('merlin', held, 'c9'), 'protocol_violation'],
      [command('merlin', held, 'c1', { args: {} }), 'protocol_violation'],
      [command('merlin', held, 'c1', { tool_name: 'unknown' }), 'tool_not_found'],
      [{ ...command('merlin', held, 'c1'), headers: { 'CG-Recursion-Depth': '3' } }, 'protocol_violation'],
      [{ ...command('merlin', held, 'c1'), subject: SUBJECT.replace('execute', 'other') }, 'protocol_violation'],
      [{ ...command('merlin', held, 'c1'), subject: SUBJECT.replace('default', 'elsewhere') }, 'protocol_violation'],
      [{ ...command('merlin', held, 'c1'), subject: SUBJECT.replace('public', 't_x') }, 'protocol_violation'],
      [{ ...command('merlin', held, 'c1'), subject: SUBJECT.replace('v1r3', 'v2') }, 'unsupported_version'],
    ];
    for (const [message, code] of refusals) {
      const { body } = await merlin.send(message);
      assert.equal(body.code, code, JSON.stringify(body));
    }
    assert.deepEqual(await search.claim(), []);
  });

  it('twice is one', async (t) => {
    const parley = await testParley(t);
    const { merlin, search, held } = await scene(parley);
    await accepted(merlin, command('merlin', held, 'c1'));
    const again = await merlin.send(command('merlin', held, 'c1'));
    assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    assert.equal((await search.claim({ max: 10 })).length, 1);
  });

  it('with header names in its payload is warned of', async (t) => {
    const parley = await testParley(t);
    const { merlin, held } = await scene(parley);
    await accepted(merlin, command('merlin', held, 'c1', { 'CG-User-ID': 'x' }));
    assert.ok(parley.logged.includes('warn a payload has keys that belong to headers'));
  });
});

const internal = (name: string, agent: string, { agent_turn_id, turn_epoch }: Held, call: string, card: string) => ({
  subject: `cg.v1r3.default.public.cmd.sys.pmo.internal.${name}`,
  payload: { tool_call_id: call, agent_turn_id, turn_epoch, agent_id: agent, tool_call_card_id: card },
});

interface Joined {
  status: string;
  // biome-ignore lint/suspicious/noExplicitAny: as in Reply
  result: any;
}

/** The result of the call, once it is there. */
const resultOf = async (worker: Worker): Promise<Joined> => {
  const { inbox } = await eventually(() => worker.take());
  const { body } = await worker.agent.call('GET', `/v1/cards/${inbox[0].tool_result_card_id}`);
  return { status: inbox[0].status, result: body.content.result };
};

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
    parley.clock.advance(parley.parley.deps.config.turns.runningMs + 20_000);
    const { status, result } = await resultOf(worker);
    assert.equal(status, 'partial');
    assert.deepEqual(statuses(result), ['failed', 'success', 'success']);
    assert.equal(result.results[0].error_code, 'reaped');
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

describe('delegate', () => {
  const delegateTo = async (worker: Worker, held: Held, target_ref: string) => {
    await worker.suspend(held, ['d1']);
    const card = await madeCard(worker.agent, 'tool.call', { args: { target_ref, instruction: 'go on' } });
    return worker.agent.send(internal('delegate', worker.agent.id, held, 'd1', card));
  };

  it('is one turn of one agent, whose end is the result of the call', async (t) => {
    const parley = await testParley(t);
    const [merlin, kay] = [
      new Worker(await groundAgent(parley, 'merlin')),
      new Worker(await groundAgent(parley, 'kay')),
    ];
    await enqueued(parley.admin, 'merlin');
    const held = await merlin.begin();
    assert.equal((await delegateTo(merlin, held, 'kay')).status, 202);
    const child = await kay.begin();
    assert.equal(child.inbox[0].recursion_depth, 1);
    const traceId = (row: { traceparent: string }) => row.traceparent.slice(3, 35);
    assert.equal(traceId(child.inbox[0]), traceId(held.inbox[0]), 'the trace goes on');
    assert.notEqual(child.inbox[0].traceparent, held.inbox[0].traceparent, 'with a span of its own');
    const card = await kay.deliver(child);
    const { status, result } = await resultOf(merlin);
    assert.equal(status, 'success');
    assert.equal(result.deliverable_card_id, card);
    assert.equal(result.agent_turn_id, child.agent_turn_id);
  });

  it('goes on to a depth of 19 and is stopped at 20, and every parent learns it', async (t) => {
    const parley = await testParley(t);
    const workers = await Promise.all(
      Array.from({ length: 21 }, async (_, at) => new Worker(await groundAgent(parley, `a${at}`))),
    );
    await enqueued(parley.admin, 'a0');
    const chain: Held[] = [];
    for (const [depth, worker] of workers.slice(0, 20).entries()) {
      const held = await eventually(() => worker.begin());
      assert.equal(held.inbox[0].recursion_depth, depth);
      chain.push(held);
      assert.equal((await delegateTo(worker, held, `a${depth + 1}`)).status, 202);
    }
    assert.equal(await workers[20]?.lease(), undefined);
    for (let depth = 19; depth >= 0; depth--) {
      const worker = workers[depth];
      const held = chain[depth];
      assert.ok(worker && held);
      const { status } = await resultOf(worker);
      assert.equal(status, 'failed', `at ${depth}`);
      await worker.deliver(held, { failed: depth }, 'failed');
    }
  });
});
