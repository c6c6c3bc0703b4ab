import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type CallPhase,
  type CallPrimitive,
  type CorrelationRecord,
  correlationRef,
} from '../../shared/model/correlation.ts';
import { toToolCallTaskId } from '../../shared/model/tool-call.ts';
import { eventually } from '../support/eventually.ts';
import { called, enqueued, groundAgent, type Held, reports, Worker } from '../support/ground.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const edge = (
  { parley }: TestParley,
  correlation: string,
  primitive: CallPrimitive,
  phase: CallPhase,
): Promise<CorrelationRecord | undefined> =>
  parley.deps.records.get(correlationRef('default', correlation, primitive, phase));

/** A turn four levels deep that waits for its calls for a minute. */
const scene = async (parley: TestParley, ...calls: string[]) => {
  const merlin = new Worker(await groundAgent(parley, 'merlin'));
  const kay = new Worker(await groundAgent(parley, 'kay'));
  await enqueued(parley.admin, 'merlin', { correlation_id: 'asked', recursion_depth: 4 });
  const held = await merlin.begin();
  await merlin.suspend(held, calls, { deadline_seconds: 60 });
  return { merlin, kay, held };
};

const reportEdge = (parley: TestParley, { agent_turn_id }: Held, call: string) =>
  eventually(async () => {
    const found = await edge(parley, toToolCallTaskId(agent_turn_id, call), 'report', 'response');
    assert.deepEqual([found?.depth, found?.turn], [4, agent_turn_id]);
    assert.ok(found?.traceparent, 'it has no trace');
  });

describe('an execution edge', () => {
  it('is kept of a call and of its answer, with the depth of the call', async (t) => {
    const parley = await testParley(t);
    const { merlin, held } = await scene(parley, 'c1');
    assert.equal((await edge(parley, 'asked', 'enqueue', 'request'))?.depth, 4);
    await reports(merlin.agent, 'merlin', held, 'c1', { recursion_depth: 4 });
    await merlin.deliver(await merlin.take());
    await eventually(async () => {
      const found = await edge(parley, 'asked', 'enqueue', 'response');
      assert.deepEqual([found?.depth, found?.turn], [4, held.agent_turn_id]);
    });
  });

  it('is kept of a tool call, and of each report that answers one: a result, a timeout, and one that ends the turn', async (t) => {
    const parley = await testParley(t);
    const { merlin, held } = await scene(parley, 'c1', 'c2', 'c3');
    const { agent_turn_id, turn_epoch } = held;
    const subject = 'cg.v1r3.default.public.cmd.tool.kay.do';
    const payload = { tool_call_id: 'c1', agent_turn_id, turn_epoch, agent_id: 'merlin' };
    assert.equal((await merlin.agent.send({ subject, payload })).status, 202);
    assert.equal((await edge(parley, toToolCallTaskId(agent_turn_id, 'c1'), 'tool_call', 'request'))?.depth, 4);
    await reports(merlin.agent, 'merlin', held, 'c1', { recursion_depth: 4 });
    await reportEdge(parley, held, 'c1');
    parley.clock.advance(60_000);
    await reportEdge(parley, held, 'c2');
    await merlin.suspend(await eventually(() => merlin.take()), ['last']);
    await reports(merlin.agent, 'merlin', held, 'last', { recursion_depth: 4, after_execution: 'terminate' });
    await reportEdge(parley, held, 'last');
  });

  it('of the answer is that of the call which was taken, not of another that was refused under its id', async (t) => {
    const parley = await testParley(t);
    const { merlin, held } = await scene(parley, 'c1');
    const other = called('kay', { correlation_id: 'asked' });
    assert.equal((await parley.admin.call('POST', '/v1/turns', other)).body.code, 'protocol_violation');
    await reports(merlin.agent, 'merlin', held, 'c1', { recursion_depth: 4 });
    await merlin.deliver(await merlin.take());
    await eventually(async () =>
      assert.equal((await edge(parley, 'asked', 'enqueue', 'response'))?.turn, held.agent_turn_id),
    );
  });
});
