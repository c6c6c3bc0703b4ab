import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import baseConfig from '../../parley.config.ts';
import { defineConfig } from '../../shared/config/config.ts';
import type { Caller, TestAgent } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { enqueued, eventsOf, groundAgent, type Held, headOf, madeCard, turnOf, Worker } from '../support/ground.ts';
import { taskFormat, tfRequest } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

const v1r4 = (place: string) => `cg.v1r4.default.public.${place}`;

/** What the context of a turn writes on every command. */
const identityOf = (agent: string, held?: Held, call?: string): Record<string, string> => ({
  'CG-Project-Id': 'default',
  'CG-Channel-Id': 'public',
  'CG-Agent-Id': agent,
  ...(held && { 'CG-Turn-Id': held.agent_turn_id, 'CG-Turn-Epoch': String(held.turn_epoch) }),
  ...(call !== undefined && { 'CG-Tool-Call-Id': call, 'CG-Step-Id': 's1', 'CG-Recursion-Depth': '0' }),
});

const calls = async (caller: Caller, agent: string): Promise<string> => {
  const headers = identityOf(agent);
  const message = {
    subject: v1r4(`cmd.agent.${agent}.turn`),
    headers,
    payload: { correlation_id: randomUUID(), payload: {} },
  };
  const { status, body } = await caller.call('POST', '/v1/messages', message);
  assert.equal(status, 202, JSON.stringify(body));
  return body.agentTurnId;
};

const issuesOf = async (agent: TestAgent, message: object) => {
  const { status, body } = await agent.send(message);
  assert.deepEqual([status, body.code], [422, 'protocol_violation'], JSON.stringify(body));
  return (body.issues ?? []).map(({ path }: { path: string }) => path);
};

describe('CommonGround v1r4', () => {
  it('runs a turn with a tool call whose identity stands in headers alone', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'merlin'));
    const service = await groundAgent(parley, 'word_count');
    await calls(parley.admin, 'merlin');
    const held = await worker.begin();
    await worker.suspend(held, ['c1']);
    const payload = {
      tool_name: null,
      after_execution: 'suspend',
      tool_call_card_id: await madeCard(worker.agent, 'tool.call', { tool_name: 'word_count', arguments: {} }),
    };
    const command = {
      subject: v1r4('cmd.tool.word_count.call'),
      headers: identityOf('merlin', held, 'c1'),
      payload,
    };
    const sent = await worker.agent.send(command);
    assert.equal(sent.status, 202, JSON.stringify(sent.body));
    assert.equal((await worker.agent.send(command)).body.duplicate, true);
    const [{ message }] = await service.claim();
    assert.deepEqual([message.subject, message.payload], [command.subject, payload]);
    assert.deepEqual(
      { ...message.headers, ...command.headers, 'CG-Version': 'v1r4', 'CG-Sender': 'merlin' },
      message.headers,
    );
    const report = {
      subject: v1r4('cmd.agent.merlin.tool_result'),
      headers: identityOf('merlin', held, 'c1'),
      payload: {
        after_execution: 'suspend',
        status: 'success',
        tool_result_card_id: await madeCard(service, 'tool.result', { status: 'success', result: 2 }),
      },
    };
    const { 'CG-Recursion-Depth': _depth, ...withoutDepth } = report.headers;
    assert.equal((await service.send({ ...report, headers: withoutDepth })).status, 202);
    assert.equal((await headOf(parley.admin, 'merlin')).status, 'running');
  });

  it('rejects a report whose depth is not that of its turn', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'merlin'));
    await calls(parley.admin, 'merlin');
    const held = await worker.begin();
    await worker.suspend(held, ['c1']);
    const card = await madeCard(worker.agent, 'tool.result', { status: 'success', result: 2 });
    const reply = await worker.agent.send({
      subject: v1r4('cmd.agent.merlin.tool_result'),
      headers: { ...identityOf('merlin', held, 'c1'), 'CG-Recursion-Depth': '3' },
      payload: { after_execution: 'suspend', status: 'success', tool_result_card_id: card },
    });
    assert.deepEqual([reply.status, reply.body.code], [422, 'protocol_violation']);
    assert.equal((await headOf(parley.admin, 'merlin')).status, 'suspended');
  });

  it('rejects a command whose payload says what belongs into headers, and names each field', async (t) => {
    const parley = await testParley(t);
    const agent = await groundAgent(parley, 'merlin');
    const headers = identityOf('merlin', { agent_turn_id: 't1', turn_epoch: 1, inbox: [] }, 'c1');
    const fields = ['agent_id', 'agent_turn_id', 'turn_epoch', 'tool_call_id', 'channel_id', 'recursion_depth'];
    const payload = Object.fromEntries(fields.map((field) => [field, 1]));
    const paths = await issuesOf(agent, { subject: v1r4('cmd.tool.word_count.call'), headers, payload });
    assert.deepEqual(
      paths,
      fields.map((field) => `payload.${field}`),
    );
    const call = { correlation_id: 'x', agent_id: 'merlin' };
    assert.deepEqual(await issuesOf(agent, { subject: v1r4('cmd.agent.merlin.turn'), payload: call }), [
      'payload.agent_id',
    ]);
  });

  it('rejects a command without a header of its identity, or with one that disagrees with the subject', async (t) => {
    const parley = await testParley(t);
    const agent = await groundAgent(parley, 'merlin');
    const headers = identityOf('merlin', { agent_turn_id: 't1', turn_epoch: 1, inbox: [] }, 'c1');
    const tool = { subject: v1r4('cmd.tool.word_count.call'), payload: {} };
    for (const name of ['CG-Agent-Id', 'CG-Turn-Id', 'CG-Turn-Epoch', 'CG-Tool-Call-Id']) {
      const { [name]: _, ...rest } = headers;
      assert.deepEqual(await issuesOf(agent, { ...tool, headers: rest }), [`headers.${name}`]);
    }
    const epoch = { ...headers, 'CG-Turn-Epoch': 'soon' };
    assert.deepEqual(await issuesOf(agent, { ...tool, headers: epoch }), ['headers.CG-Turn-Epoch']);
    const elsewhere = { 'CG-Project-Id': 'other', 'CG-Channel-Id': 't_other' };
    for (const [name, value] of Object.entries(elsewhere)) {
      assert.deepEqual(await issuesOf(agent, { ...tool, headers: { ...headers, [name]: value } }), [`headers.${name}`]);
    }
    const stop = { subject: v1r4('cmd.agent.other.stop'), headers, payload: {} };
    assert.deepEqual(await issuesOf(agent, stop), ['headers.CG-Agent-Id']);
  });

  it('tells the events of a turn in the version of its call, with its identity in headers', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'merlin'));
    const turn = await calls(parley.admin, 'merlin');
    const held = await worker.begin();
    await worker.ok(held, 'step', { step_id: 's1', phase: 'planning' });
    await worker.deliver(held);
    const told = await eventually(async () => {
      const events = await eventsOf(parley.admin, 'evt.agent.*', 'cmd.agent.wakeup');
      assert.ok(events.some(({ type }) => type === 'evt.agent.task'));
      return events;
    });
    for (const { type, data } of told) {
      const expected = {
        ...identityOf('merlin'),
        'CG-Turn-Epoch': type === 'cmd.agent.wakeup' ? '0' : '1',
        'CG-Version': 'v1r4',
        ...(type !== 'cmd.agent.wakeup' && { 'CG-Turn-Id': turn }),
      };
      assert.deepEqual({ ...data.headers, ...expected }, data.headers, type);
      assert.match(data.subject, /^cg\.v1r4\.default\.public\./);
    }
    const [bell] = told.filter(({ type }) => type === 'cmd.agent.wakeup');
    assert.deepEqual(Object.keys(bell?.data.payload).toSorted(), ['inbox_id', 'reason']);
    const [step] = told.filter(({ type }) => type === 'evt.agent.step');
    assert.deepEqual(step?.data.payload, { agent_turn_id: turn, step_id: 's1', phase: 'planning' });
  });

  it('keeps its version in the turns of fork_join and delegate', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'merlin'));
    const helper = new Worker(await groundAgent(parley, 'helper'));
    await calls(parley.admin, 'merlin');
    const held = await worker.begin();
    await worker.suspend(held, ['c1', 'c2']);
    const task = { target_strategy: 'reuse', target_ref: 'helper', instruction: 'go' };
    for (const [tool, call, args] of [
      ['fork_join', 'c1', { tasks: [task] }],
      ['delegate', 'c2', { target_ref: 'helper', instruction: 'go' }],
    ] as const) {
      const card = await madeCard(worker.agent, 'tool.call', { tool_name: tool, arguments: args });
      const sent = await worker.agent.send({
        subject: v1r4(`cmd.sys.pmo.internal.${tool}`),
        headers: identityOf('merlin', held, call),
        payload: { tool_name: tool, after_execution: 'suspend', tool_call_card_id: card },
      });
      assert.equal(sent.status, 202, JSON.stringify(sent.body));
      await helper.deliver(await eventually(() => helper.begin()));
    }
    await eventually(async () => assert.equal((await headOf(parley.admin, 'merlin')).status, 'running'));
    const ends = await eventsOf(parley.admin, 'evt.agent.task');
    assert.deepEqual(
      ends.map(({ data }) => data.subject),
      [v1r4('evt.agent.helper.task'), v1r4('evt.agent.helper.task')],
    );
  });

  it('takes bells, stops and actions of user interfaces, and acknowledges the actions', async (t) => {
    const parley = await testParley(t);
    const user = await groundAgent(parley, 'user');
    const panel = new Worker(await groundAgent(parley, 'panel', { workerTarget: 'ui_worker' }));
    const tool = { target_subject: 'cg.v1r4.{project_id}.{channel_id}.cmd.tool.x.y', options: { ui_allowed: true } };
    await parley.admin.call('PUT', '/v1/tools/rename', tool);
    const action = {
      subject: v1r4('cmd.sys.ui.action'),
      headers: { ...identityOf('panel'), 'CG-Parent-Step-Id': 's0' },
      payload: { action_id: 'a1', tool_name: 'rename', args: { to: 'Avalon' }, metadata: null },
    };
    assert.equal((await user.send(action)).status, 202);
    assert.equal((await user.send(action)).body.duplicate, true);
    const other = { ...action, headers: identityOf('user') };
    assert.equal((await user.send(other)).body.code, 'id_reused');
    const held = await panel.begin();
    assert.equal(held.inbox[0].payload.ui_action.parent_step_id, 's0');
    await eventually(async () => {
      const [ack] = await eventsOf(parley.admin, 'evt.sys.ui.action_ack');
      assert.deepEqual([ack?.data.subject, ack?.data.payload.status], [v1r4('evt.sys.ui.action_ack'), 'accepted']);
      assert.equal(ack?.data.headers['CG-Agent-Id'], 'panel');
    });
    const bell = {
      subject: v1r4('cmd.agent.ui_worker.wakeup'),
      headers: identityOf('panel'),
      payload: { reason: 'r' },
    };
    assert.equal((await user.send(bell)).status, 202);
    await eventually(async () => {
      const last = (await eventsOf(parley.admin, 'cmd.agent.wakeup')).at(-1)?.data;
      assert.deepEqual([last.to, last.payload], ['panel', { reason: 'r' }]);
    });
    const stop = {
      subject: v1r4('cmd.agent.panel.stop'),
      headers: identityOf('panel', held),
      payload: { reason: 'r' },
    };
    assert.equal((await panel.agent.send(stop)).status, 202);
    assert.equal((await turnOf(parley.admin, held.agent_turn_id)).status, 'canceled');
  });

  it('is what an agent with the profile v1r4 is told in, also of what others ask it for', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'merlin', { profile: 'v1r4' }));
    const tim = await parley.agent('tim', taskFormat);
    await enqueued(parley.admin, 'merlin');
    await worker.deliver(await worker.begin());
    assert.equal((await tim.send(tfRequest({ routing: { target: 'merlin' } }))).status, 202);
    await worker.deliver(await worker.begin());
    await eventually(async () => assert.equal((await eventsOf(parley.admin, 'evt.agent.task')).length, 2));
    const events = await eventsOf(parley.admin, 'evt.agent.*', 'cmd.agent.*');
    assert.deepEqual([...new Set(events.map(({ data }) => data.subject.split('.')[1]))], ['v1r4']);
  });

  it('is what turns without a message are told in where the configuration says so', async (t) => {
    const config = defineConfig({ ...baseConfig, dialects: { 'common-ground': { version: 'v1r4' } } });
    const parley = await testParley(t, { config });
    const worker = new Worker(await groundAgent(parley, 'merlin'));
    await enqueued(parley.admin, 'merlin');
    await worker.deliver(await worker.begin());
    const older = `cg.v1r3.default.public.cmd.agent.merlin.turn`;
    await parley.admin.call('POST', '/v1/messages', { subject: older, payload: { correlation_id: 'old' } });
    await worker.deliver(await worker.begin());
    await eventually(async () => {
      const ends = await eventsOf(parley.admin, 'evt.agent.task');
      assert.deepEqual(
        ends.map(({ data }) => data.subject),
        [v1r4('evt.agent.merlin.task'), 'cg.v1r3.default.public.evt.agent.merlin.task'],
      );
    });
  });
});
