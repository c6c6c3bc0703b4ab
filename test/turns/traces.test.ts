import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import {
  called,
  eventsOf,
  groundAgent,
  type Held,
  internal,
  madeCard,
  reports,
  toolReport,
  Worker,
} from '../support/ground.ts';
import { tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const HEADERS = { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-01`, tracestate: 'vendor=1' };

interface Traced {
  traceparent: string;
  tracestate?: string;
}

const idsIn = ({ traceparent }: Traced): string[] => traceparent.split('-').slice(1, 3);

/** The same trace with a span of its own, and what its makers keep with it. */
const assertHandedOn = (told: Traced, from: Traced = HEADERS): void => {
  assert.ok(told.traceparent, 'there is no trace');
  const [[trace, span], [, parent]] = [idsIn(told), idsIn(from)];
  assert.equal(trace, TRACE_ID);
  assert.notEqual(span, parent, 'it has no span of its own');
  assert.equal(told.tracestate, HEADERS.tracestate);
};

const scene = async (parley: TestParley) => {
  const caller = new Worker(await groundAgent(parley, 'caller'));
  const helper = new Worker(await groundAgent(parley, 'helper'));
  assert.equal((await parley.admin.call('POST', '/v1/turns', called('caller'), HEADERS)).status, 201);
  const held = await caller.begin();
  assertHandedOn(held.inbox[0]);
  await caller.suspend(held, ['c1'], { deadline_seconds: 60 });
  return { caller, helper, held };
};

const reported = async (worker: Worker): Promise<Traced> => (await eventually(() => worker.take())).inbox[0];

const command = ({ agent_turn_id, turn_epoch }: Held) => ({
  subject: 'cg.v1r3.default.public.cmd.tool.helper.do',
  payload: { tool_call_id: 'c1', agent_turn_id, turn_epoch, agent_id: 'caller' },
});

describe('trace context', () => {
  it('passes the trace to a called tool and back with its report', async (t) => {
    const parley = await testParley(t);
    const { caller, helper, held } = await scene(parley);
    assert.equal((await caller.agent.send(command(held))).status, 202);
    const [{ message }] = await helper.agent.claim();
    assertHandedOn(message.headers, held.inbox[0]);
    const report = await toolReport(helper.agent, 'caller', held, 'c1');
    const { traceparent, tracestate } = message.headers;
    const path = `/v1/turns/${held.agent_turn_id}/reports`;
    assert.equal((await helper.agent.call('POST', path, report, { traceparent, tracestate })).status, 202);
    assertHandedOn(await reported(caller), message.headers);
  });

  it('passes the trace back with the result of a service of another dialect', async (t) => {
    const parley = await testParley(t);
    const { caller, held } = await scene(parley);
    const search = await parley.agent('search', { dialect: 'round-table', capabilities: [] });
    const sent = await caller.agent.send({ ...command(held), subject: 'cg.v1r3.default.public.cmd.tool.search.do' });
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    const [{ message }] = await search.claim();
    await search.complete(message.id, { hits: 3 });
    assertHandedOn(await reported(caller), held.inbox[0]);
  });

  it('passes trace, baggage, user and context to an agent of another dialect', async (t) => {
    const parley = await testParley(t);
    const cook = await parley.agent('cook', { dialect: 'task-format', capabilities: [] });
    const headers = { ...HEADERS, baggage: 'tenant=blue', 'cg-user-id': 'ada', 'cg-context-id': 'conversation-7' };
    assert.equal((await parley.admin.call('POST', '/v1/turns', called('cook'), headers)).status, 201);
    const [task] = await eventually(async () => {
      const tasks = await cook.claim();
      assert.equal(tasks.length, 1);
      return tasks;
    });
    assertHandedOn(task);
    assert.deepEqual([task.baggage, task.message.observability.baggage], ['tenant=blue', { tenant: 'blue' }]);
    const { user, conversationId } = task.message.context;
    assert.deepEqual({ user, conversationId }, { user: 'ada', conversationId: 'conversation-7' });
  });

  it('passes trace, baggage, user and context from an agent of another dialect', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { dialect: 'task-format', capabilities: [] });
    const caller = new Worker(await groundAgent(parley, 'caller'));
    const context = { user: 'ada', conversationId: 'conversation-7' };
    const request = tfRequest({ context, routing: { target: 'caller' } });
    assert.equal((await requester.call('POST', '/v1/messages', request, { ...HEADERS, baggage: 'a=1' })).status, 202);
    const {
      inbox: [row],
    } = await caller.take();
    assertHandedOn(row);
    assert.equal(row.baggage, 'a=1');
    assert.deepEqual(row.headers, { 'CG-User-ID': 'ada', 'CG-Context-ID': 'conversation-7' });
  });

  it('takes the user from the tool command and the context from the turn', async (t) => {
    const parley = await testParley(t);
    const caller = new Worker(await groundAgent(parley, 'caller'));
    const cook = await parley.agent('cook', { dialect: 'task-format', capabilities: [] });
    const headers = { 'cg-user-id': 'ada', 'cg-context-id': 'conversation-7' };
    assert.equal((await parley.admin.call('POST', '/v1/turns', called('caller'), headers)).status, 201);
    const held = await caller.begin();
    await caller.suspend(held, ['c1']);
    const subject = 'cg.v1r3.default.public.cmd.tool.cook.do';
    const sent = await caller.agent.send({ ...command(held), subject, headers: { 'cg-user-id': 'bob' } });
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    const [{ user, conversationId }] = await cook.claim();
    assert.deepEqual({ user, conversationId }, { user: 'bob', conversationId: 'conversation-7' });
  });

  it('keeps the trace in the timeout report of a tool call', async (t) => {
    const parley = await testParley(t);
    const { caller, held } = await scene(parley);
    parley.clock.advance(60_000);
    assertHandedOn(await reported(caller), held.inbox[0]);
  });

  const delegated = { target_ref: 'helper', instruction: 'go' };
  const internals = { delegate: delegated, fork_join: { tasks: [{ target_strategy: 'reuse', ...delegated }] } };
  for (const [tool, args] of Object.entries(internals)) {
    it(`passes the trace to a ${tool} call and back with its result`, async (t) => {
      const parley = await testParley(t);
      const { caller, helper, held } = await scene(parley);
      const card = await madeCard(caller.agent, 'tool.call', { args });
      assert.equal((await caller.agent.send(internal(tool, 'caller', held, 'c1', card))).status, 202);
      const child = await eventually(() => helper.begin());
      assertHandedOn(child.inbox[0], held.inbox[0]);
      await helper.deliver(child);
      assertHandedOn(await reported(caller), child.inbox[0]);
    });
  }

  it('keeps the trace in the report of an internal tool call that is rejected', async (t) => {
    const parley = await testParley(t);
    const { caller, held } = await scene(parley);
    const card = await madeCard(caller.agent, 'tool.call', { args: { ...delegated, target_ref: 'nobody' } });
    assert.equal((await caller.agent.send(internal('delegate', 'caller', held, 'c1', card))).status, 202);
    assertHandedOn(await reported(caller), held.inbox[0]);
  });

  it('puts the trace of a turn into each of its events', async (t) => {
    const parley = await testParley(t);
    const { caller, held } = await scene(parley);
    assert.equal((await reports(caller.agent, 'caller', held, 'c1')).status, 202);
    await caller.deliver(await caller.take());
    await eventually(async () => {
      const told = await eventsOf(parley.admin, 'evt.agent.task', 'evt.agent.state', 'cmd.agent.wakeup');
      assert.ok(told.some(({ type }) => type === 'evt.agent.task'));
      for (const { data } of told) assertHandedOn(data.headers, held.inbox[0]);
    });
  });
});
