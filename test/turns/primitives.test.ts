import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, type Held, internal, madeCard, turnOf, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

/** The card that a worker in Python writes for a call. */
const callCard = (worker: Worker, tool_name: string, args: object) =>
  madeCard(worker.agent, 'tool.call', {
    tool_name,
    arguments: args,
    status: 'called',
    target_subject: `cg.v1r3.default.public.cmd.sys.pmo.internal.${tool_name}`,
    __type__: 'ToolCallContent',
  });

const scene = async (parley: TestParley) => {
  const lead = new Worker(await groundAgent(parley, 'lead'));
  const helper = new Worker(await groundAgent(parley, 'helper', { capabilities: ['helpers'] }));
  await enqueued(parley.admin, 'lead', { recursion_depth: 2 });
  const held = await lead.begin();
  await lead.suspend(held, ['c1']);
  return { lead, helper, held };
};

const calls = async (worker: Worker, held: Held, tool: string, args: object) =>
  worker.agent.send(withName(tool, internal(tool, worker.agent.id, held, 'c1', await callCard(worker, tool, args))));

/** As a worker in Python sends it, though nobody registered the tool. */
const withName = <T extends { payload: object }>(tool_name: string, message: T) => ({
  ...message,
  payload: { ...message.payload, tool_name, after_execution: 'suspend', context_box_id: null },
});

const resultCard = async (worker: Worker) => {
  const [row] = (await worker.take()).inbox;
  const { body } = await worker.agent.call('GET', `/v1/cards/${row.tool_result_card_id}`);
  assert.equal(row.status, body.content.status);
  return body.content;
};

describe('primitives of CommonGround', () => {
  const DETACHED: [string, object][] = [
    ['delegate_async', { target_strategy: 'reuse', target_ref: 'helper', instruction: 'go on', context_box_id: null }],
    ['delegate_async', { target_strategy: 'new', target_ref: 'helpers', instruction: 'go on' }],
    ['launch_principal', { profile_name: 'helpers', instruction: 'go on' }],
    ['ask_expert', { expert_profile: 'helpers', question: 'go on', include_history: false }],
  ];
  for (const [tool, args] of DETACHED) {
    it(`resumes the caller of ${tool} ${JSON.stringify(args)} at once, and runs the turn one level deeper`, async (t) => {
      const parley = await testParley(t);
      const { lead, helper, held } = await scene(parley);
      const sent = await calls(lead, held, tool, args);
      assert.equal(sent.status, 202, JSON.stringify(sent.body));
      const { result, ...content } = await resultCard(lead);
      assert.deepEqual(content, { status: 'success', after_execution: 'suspend', error: null });
      assert.deepEqual([result.status, result.agent_turn_id], ['accepted', sent.body.agentTurnId]);
      const child = await helper.begin();
      assert.equal(child.agent_turn_id, result.agent_turn_id);
      assert.deepEqual([child.inbox[0].recursion_depth, child.inbox[0].from], [3, 'lead']);
      assert.deepEqual(child.inbox[0].payload, { instruction: 'go on' });
    });
  }

  it('keeps a turn of delegate_async when its caller ends, and when the command is repeated', async (t) => {
    const parley = await testParley(t);
    const { lead, helper, held } = await scene(parley);
    const args = { target_strategy: 'reuse', target_ref: 'helper', instruction: 'go on' };
    const card = await callCard(lead, 'delegate_async', args);
    const command = internal('delegate_async', 'lead', held, 'c1', card);
    const sent = await lead.agent.send(command);
    const again = await lead.agent.send(command);
    assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    await lead.take();
    await lead.deliver(held);
    await eventually(async () => assert.equal((await turnOf(parley.admin, held.agent_turn_id)).status, 'success'));
    await helper.deliver(await helper.begin());
    await eventually(async () => assert.equal((await turnOf(parley.admin, sent.body.agentTurnId)).status, 'success'));
    assert.equal(await helper.lease(), undefined);
  });

  it('finishes a delegate_async that was cut between its turn and its result', async (t) => {
    const parley = await testParley(t);
    const { lead, helper, held } = await scene(parley);
    const args = { target_strategy: 'reuse', target_ref: 'helper', instruction: 'go on' };
    const card = await callCard(lead, 'delegate_async', args);
    const { records } = parley.parley.deps;
    const update = records.update.bind(records);
    records.update = async (ref, ...rest) => {
      if (ref.pk.endsWith('#turns#lead')) throw new Error('killed');
      return update(ref, ...rest);
    };
    const command = internal('delegate_async', 'lead', held, 'c1', card);
    assert.equal((await lead.agent.send(command)).status, 500);
    records.update = update;
    const again = await lead.agent.send(command);
    assert.equal(again.status, 200, JSON.stringify(again.body));
    assert.equal((await resultCard(lead)).result.agent_turn_id, again.body.agentTurnId);
    await helper.deliver(await helper.begin());
    assert.equal(await helper.lease(), undefined);
  });

  it('lets an agent that runs a turn of delegate_async call its caller', async (t) => {
    const parley = await testParley(t);
    const { lead, helper, held } = await scene(parley);
    await calls(lead, held, 'delegate_async', { target_strategy: 'reuse', target_ref: 'helper', instruction: 'go' });
    await lead.take();
    await lead.deliver(held);
    const child = await helper.begin();
    await helper.suspend(child, ['c1']);
    await calls(helper, child, 'delegate', { target_ref: 'lead', instruction: 'and back' });
    await lead.deliver(await eventually(() => lead.begin()));
    assert.equal((await resultCard(await eventuallyReady(helper))).status, 'success');
  });

  it('reads the arguments of fork_join in the card of a worker in Python', async (t) => {
    const parley = await testParley(t);
    const { lead, helper, held } = await scene(parley);
    const task = { target_strategy: 'reuse', target_ref: 'helper', instruction: 'go on', context_box_id: null };
    const sent = await calls(lead, held, 'fork_join', { tasks: [task], fail_fast: false, deadline_seconds: null });
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    await helper.deliver(await helper.begin(), { summary: 'found it' });
    const { result, ...content } = await resultCard(await eventuallyReady(lead));
    assert.deepEqual(content, { status: 'success', after_execution: 'suspend', error: null });
    assert.deepEqual(
      [result.status, result.results[0].status, result.results[0].summary],
      ['success', 'success', 'found it'],
    );
  });

  it('rejects arguments without their required fields, a history for an expert, and tools that do not exist', async (t) => {
    const parley = await testParley(t);
    const { lead, held } = await scene(parley);
    const wrong: [string, object][] = [
      ['delegate_async', { target_ref: 'helper', instruction: 'go on' }],
      ['launch_principal', { profile_name: 'helpers' }],
      ['ask_expert', { expert_profile: 'helpers', question: 'how?', include_history: true }],
      ['provision_agent', { action: 'create', agent_id: 'x' }],
    ];
    for (const [tool, args] of wrong) {
      const { body } = await calls(lead, held, tool, args);
      assert.equal(body.code, 'protocol_violation', tool);
    }
    const [call] = (await turnOf(parley.admin, held.agent_turn_id)).waiting;
    assert.equal(call.status, 'waiting');
  });

  it('reports an agent that does not exist as the result of the call', async (t) => {
    const parley = await testParley(t);
    const { lead, held } = await scene(parley);
    await calls(lead, held, 'delegate_async', { target_strategy: 'new', target_ref: 'nobody', instruction: 'go' });
    const content = await resultCard(lead);
    assert.deepEqual(Object.keys(content).toSorted(), ['after_execution', 'error', 'result', 'status']);
    assert.deepEqual([content.status, content.result, content.error.code], ['failed', null, 'unknown_agent']);
    assert.match(content.error.message, /nobody/);
  });
});

const eventuallyReady = async (worker: Worker): Promise<Worker> => {
  await eventually(async () =>
    assert.equal((await worker.agent.call('GET', `/v1/agents/${worker.agent.id}/head`)).body.status, 'running'),
  );
  return worker;
};
