import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, type Held, headOf, madeCard, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const message = (suffix: string, { agent_turn_id, turn_epoch }: Held, card?: string) => ({
  subject: `cg.v1r3.default.public.cmd.${suffix}`,
  payload: { tool_call_id: 'c1', agent_turn_id, turn_epoch, agent_id: 'merlin', tool_call_card_id: card },
});

/** A turn that waits for a call, and whoever would do its work. */
const scene = async (parley: TestParley) => {
  const merlin = new Worker(await groundAgent(parley, 'merlin'));
  const kay = new Worker(await groundAgent(parley, 'kay'));
  const id = await enqueued(parley.admin, 'merlin');
  const held = await merlin.begin();
  await merlin.suspend(held, ['c1']);
  return { merlin, kay, held, id };
};

const argsOf = {
  tool: () => ({}),
  fork_join: (instruction: string) => ({
    tasks: [{ target_strategy: 'reuse', target_ref: 'kay', instruction }],
  }),
  delegate: (instruction: string) => ({ target_ref: 'kay', instruction }),
};

const sent = async (kind: keyof typeof argsOf, { agent }: Worker, held: Held, instruction = 'go') => {
  const card = await madeCard(agent, 'tool.call', { args: argsOf[kind](instruction), instruction });
  return message(kind === 'tool' ? 'tool.kay.do' : `sys.pmo.internal.${kind}`, held, card);
};

for (const kind of ['tool', 'fork_join', 'delegate'] as const) {
  describe(`the call of a ${kind}`, () => {
    it('has no effect where its turn ends before it does', async (t) => {
      const parley = await testParley(t);
      const { merlin, kay, held, id } = await scene(parley);
      const command = await sent(kind, merlin, held);
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
      const reply = await merlin.agent.send(command);
      assert.equal(reply.status, 409, JSON.stringify(reply.body));
      assert.equal(reply.body.code, 'stale_turn');
      assert.equal(await kay.lease(), undefined);
    });

    it('is one: another under its id is refused, and the first goes on', async (t) => {
      const parley = await testParley(t);
      const { merlin, kay, held } = await scene(parley);
      const command = await sent(kind, merlin, held);
      assert.equal((await merlin.agent.send(command)).status, 202);
      assert.equal((await merlin.agent.send(command)).body.duplicate, true);
      for (const other of ['tool', 'fork_join', 'delegate'] as const) {
        const reply = await merlin.agent.send(await sent(other, merlin, held, 'go elsewhere'));
        assert.equal(reply.status, 409, `${other}: ${JSON.stringify(reply.body)}`);
        assert.equal(reply.body.code, 'id_reused');
      }
      assert.equal((await headOf(parley.admin, 'merlin')).status, 'suspended');
      const work = await eventually(() => kay.begin());
      await kay.deliver(work);
      assert.equal((await eventually(() => merlin.take())).inbox[0].status, 'success');
      assert.equal(await kay.lease(), undefined);
    });

    it('is still the same when it comes again after it was answered, and another is none', async (t) => {
      const parley = await testParley(t);
      const { merlin, kay, held } = await scene(parley);
      const command = await sent(kind, merlin, held);
      assert.equal((await merlin.agent.send(command)).status, 202);
      await kay.deliver(await eventually(() => kay.begin()));
      await eventually(async () => assert.equal((await headOf(parley.admin, 'merlin')).status, 'running'));
      for (const _ of ['before', 'after it was read']) {
        const again = await merlin.agent.send(command);
        assert.deepEqual([again.status, again.body.duplicate], [200, true], JSON.stringify(again.body));
        const other = await merlin.agent.send(await sent(kind, merlin, held, 'go elsewhere'));
        assert.deepEqual([other.status, other.body.code], [409, 'id_reused']);
        await merlin.lease();
      }
      assert.equal(await kay.lease(), undefined);
      await merlin.deliver(held);
      assert.equal((await merlin.agent.send(command)).body.code, 'stale_turn');
    });
  });
}

describe('the id of a tool call', () => {
  it('is another than the correlation id of the same name', async (t) => {
    const parley = await testParley(t);
    const merlin = new Worker(await groundAgent(parley, 'merlin'));
    await groundAgent(parley, 'kay');
    await enqueued(parley.admin, 'merlin', { recursion_depth: 3 });
    const held = await merlin.begin();
    await merlin.suspend(held, ['c1']);
    assert.equal((await merlin.agent.send(await sent('tool', merlin, held))).status, 202);
    await enqueued(parley.admin, 'kay', { correlation_id: 'c1', recursion_depth: 0 });
  });
});
