import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { enqueued, groundAgent, type Held, internal, madeCard, resultOf, Worker } from '../support/ground.ts';
import { testParley } from '../support/test-parley.ts';

describe('delegate', () => {
  const delegateTo = async (worker: Worker, held: Held, target_ref: string) => {
    await worker.suspend(held, ['d1']);
    const card = await madeCard(worker.agent, 'tool.call', { args: { target_ref, instruction: 'go on' } });
    return worker.agent.send(internal('delegate', worker.agent.id, held, 'd1', card));
  };

  it('runs a delegation as one turn of the target and returns its end as the result of the call', async (t) => {
    const parley = await testParley(t);
    const [caller, helper] = [
      new Worker(await groundAgent(parley, 'caller')),
      new Worker(await groundAgent(parley, 'helper')),
    ];
    await enqueued(parley.admin, 'caller');
    const held = await caller.begin();
    const begun = await delegateTo(caller, held, 'helper');
    const child = await helper.begin();
    const agentTurnId = child.agent_turn_id;
    assert.deepEqual(begun.body, { id: 'd1', dialect: 'common-ground', duplicate: false, agentTurnId });
    assert.equal(child.inbox[0].recursion_depth, 1);
    const traceId = (row: { traceparent: string }) => row.traceparent.slice(3, 35);
    assert.equal(traceId(child.inbox[0]), traceId(held.inbox[0]), 'the trace goes on');
    assert.notEqual(child.inbox[0].traceparent, held.inbox[0].traceparent, 'with a span of its own');
    const card = await helper.deliver(child);
    const { status, result } = await resultOf(caller);
    assert.equal(status, 'success');
    assert.equal(result.deliverable_card_id, card);
    assert.equal(result.agent_turn_id, child.agent_turn_id);
  });

  it('delegates down to depth 19, rejects depth 20, and reports the failure to every parent', async (t) => {
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
