import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, type Held, headOf, madeCard, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const message = (suffix: string, { agent_turn_id, turn_epoch }: Held, card?: string) => ({
  subject: `cg.v1r3.default.public.cmd.${suffix}`,
  payload: { tool_call_id: 'c1', agent_turn_id, turn_epoch, agent_id: 'caller', tool_call_card_id: card },
});

const scene = async (parley: TestParley) => {
  const caller = new Worker(await groundAgent(parley, 'caller'));
  const helper = new Worker(await groundAgent(parley, 'helper'));
  const id = await enqueued(parley.admin, 'caller');
  const held = await caller.begin();
  await caller.suspend(held, ['c1']);
  return { caller, helper, held, id };
};

const argsOf = {
  tool: () => ({}),
  fork_join: (instruction: string) => ({
    tasks: [{ target_strategy: 'reuse', target_ref: 'helper', instruction }],
  }),
  delegate: (instruction: string) => ({ target_ref: 'helper', instruction }),
};

const sent = async (kind: keyof typeof argsOf, { agent }: Worker, held: Held, instruction = 'go') => {
  const card = await madeCard(agent, 'tool.call', { args: argsOf[kind](instruction), instruction });
  return message(kind === 'tool' ? 'tool.helper.do' : `sys.pmo.internal.${kind}`, held, card);
};

for (const kind of ['tool', 'fork_join', 'delegate'] as const) {
  describe(`${kind} call`, () => {
    it('rejects a call whose turn ends before the call is written', async (t) => {
      const parley = await testParley(t);
      const { caller, helper, held, id } = await scene(parley);
      const command = await sent(kind, caller, held);
      const { records } = parley.parley.deps;
      const get = records.get.bind(records);
      records.get = async (ref) => {
        const found = await get(ref);
        if (ref.sk !== 'head') return found;
        records.get = get;
        const stop = await parley.admin.call('POST', `/v1/turns/${id}/stop`, { turn_epoch: held.turn_epoch });
        assert.equal(stop.status, 200);
        return found;
      };
      const reply = await caller.agent.send(command);
      assert.equal(reply.status, 409, JSON.stringify(reply.body));
      assert.equal(reply.body.code, 'stale_turn');
      assert.equal(await helper.lease(), undefined);
    });

    it('rejects a different call with the id of an open tool call', async (t) => {
      const parley = await testParley(t);
      const { caller, helper, held } = await scene(parley);
      const command = await sent(kind, caller, held);
      assert.equal((await caller.agent.send(command)).status, 202);
      assert.equal((await caller.agent.send(command)).body.duplicate, true);
      for (const other of ['tool', 'fork_join', 'delegate'] as const) {
        const reply = await caller.agent.send(await sent(other, caller, held, 'go elsewhere'));
        assert.equal(reply.status, 409, `${other}: ${JSON.stringify(reply.body)}`);
        assert.equal(reply.body.code, 'id_reused');
      }
      assert.equal((await headOf(parley.admin, 'caller')).status, 'suspended');
      const work = await eventually(() => helper.begin());
      await helper.deliver(work);
      assert.equal((await eventually(() => caller.take())).inbox[0].status, 'success');
      assert.equal(await helper.lease(), undefined);
    });

    it('deduplicates a repeated call after its report, and rejects a different call with the same id', async (t) => {
      const parley = await testParley(t);
      const { caller, helper, held } = await scene(parley);
      const command = await sent(kind, caller, held);
      assert.equal((await caller.agent.send(command)).status, 202);
      await helper.deliver(await eventually(() => helper.begin()));
      await eventually(async () => assert.equal((await headOf(parley.admin, 'caller')).status, 'running'));
      for (const _ of ['before', 'after it was read']) {
        const again = await caller.agent.send(command);
        assert.deepEqual([again.status, again.body.duplicate], [200, true], JSON.stringify(again.body));
        const other = await caller.agent.send(await sent(kind, caller, held, 'go elsewhere'));
        assert.deepEqual([other.status, other.body.code], [409, 'id_reused']);
        await caller.lease();
      }
      assert.equal(await helper.lease(), undefined);
      await caller.deliver(held);
      assert.equal((await caller.agent.send(command)).body.code, 'stale_turn');
    });
  });
}

describe('tool call id', () => {
  it('accepts a correlation id that equals the id of a tool call', async (t) => {
    const parley = await testParley(t);
    const caller = new Worker(await groundAgent(parley, 'caller'));
    await groundAgent(parley, 'helper');
    await enqueued(parley.admin, 'caller', { recursion_depth: 3 });
    const held = await caller.begin();
    await caller.suspend(held, ['c1']);
    assert.equal((await caller.agent.send(await sent('tool', caller, held))).status, 202);
    await enqueued(parley.admin, 'helper', { correlation_id: 'c1', recursion_depth: 0 });
  });
});
