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

const scene = async (parley: TestParley, ...calls: string[]) => {
  const caller = new Worker(await groundAgent(parley, 'caller'));
  const helper = new Worker(await groundAgent(parley, 'helper'));
  await enqueued(parley.admin, 'caller', { correlation_id: 'asked', recursion_depth: 4 });
  const held = await caller.begin();
  await caller.suspend(held, calls, { deadline_seconds: 60 });
  return { caller, helper, held };
};

const reportEdge = (parley: TestParley, { agent_turn_id }: Held, call: string) =>
  eventually(async () => {
    const found = await edge(parley, toToolCallTaskId(agent_turn_id, call), 'report', 'response');
    assert.deepEqual([found?.depth, found?.turn], [4, agent_turn_id]);
    assert.ok(found?.traceparent, 'it has no trace');
  });

describe('correlation record', () => {
  it('records a call and its response with the depth of the call', async (t) => {
    const parley = await testParley(t);
    const { caller, held } = await scene(parley, 'c1');
    assert.equal((await edge(parley, 'asked', 'enqueue', 'request'))?.depth, 4);
    await reports(caller.agent, 'caller', held, 'c1', { recursion_depth: 4 });
    await caller.deliver(await caller.take());
    await eventually(async () => {
      const found = await edge(parley, 'asked', 'enqueue', 'response');
      assert.deepEqual([found?.depth, found?.turn], [4, held.agent_turn_id]);
    });
  });

  it('records a tool call and each report: a result, a timeout, and one that ends the turn', async (t) => {
    const parley = await testParley(t);
    const { caller, held } = await scene(parley, 'c1', 'c2', 'c3');
    const { agent_turn_id, turn_epoch } = held;
    const subject = 'cg.v1r3.default.public.cmd.tool.helper.do';
    const payload = { tool_call_id: 'c1', agent_turn_id, turn_epoch, agent_id: 'caller' };
    assert.equal((await caller.agent.send({ subject, payload })).status, 202);
    assert.equal((await edge(parley, toToolCallTaskId(agent_turn_id, 'c1'), 'tool_call', 'request'))?.depth, 4);
    await reports(caller.agent, 'caller', held, 'c1', { recursion_depth: 4 });
    await reportEdge(parley, held, 'c1');
    parley.clock.advance(60_000);
    await reportEdge(parley, held, 'c2');
    await caller.suspend(await eventually(() => caller.take()), ['last']);
    await reports(caller.agent, 'caller', held, 'last', { recursion_depth: 4, after_execution: 'terminate' });
    await reportEdge(parley, held, 'last');
  });

  it('records the response of the accepted call, not of a rejected call with the same id', async (t) => {
    const parley = await testParley(t);
    const { caller, held } = await scene(parley, 'c1');
    const other = called('helper', { correlation_id: 'asked' });
    assert.equal((await parley.admin.call('POST', '/v1/turns', other)).body.code, 'protocol_violation');
    await reports(caller.agent, 'caller', held, 'c1', { recursion_depth: 4 });
    await caller.deliver(await caller.take());
    await eventually(async () =>
      assert.equal((await edge(parley, 'asked', 'enqueue', 'response'))?.turn, held.agent_turn_id),
    );
  });
});
