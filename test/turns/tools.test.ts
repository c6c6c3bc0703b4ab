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

const scene = async (parley: TestParley, calls = ['c1'], service: object = {}) => {
  await registerTool(parley.admin, service);
  const caller = await groundAgent(parley, 'caller');
  const search = await groundAgent(parley, 'search');
  const worker = new Worker(caller);
  const id = await enqueued(parley.admin, 'caller');
  const held = await worker.begin();
  await worker.suspend(held, calls, { deadline_seconds: 600 });
  return { worker, caller, search, held, id };
};

const accepted = async (agent: TestAgent, message: object) => {
  const reply = await agent.send(message);
  assert.equal(reply.status, 202, JSON.stringify(reply.body));
  return reply.body;
};

describe('tool command', () => {
  it('delivers a tool command unchanged to the service of its subject, and its report resumes the turn', async (t) => {
    const parley = await testParley(t);
    const { worker, caller, search, held } = await scene(parley);
    const card = await madeCard(caller, 'tool.call', { args: { q: 'grail' } });
    const sent = command('caller', held, 'c1', { tool_call_card_id: card });
    await accepted(caller, sent);
    const [claimed] = await search.claim();
    assert.equal(claimed.message.subject, SUBJECT);
    assert.deepEqual(claimed.message.payload, sent.payload);
    const { headers } = claimed.message;
    assert.equal(headers['CG-Recursion-Depth'], '0');
    assert.equal(headers['CG-User-ID'], 'u1');
    assert.equal(headers['CG-Sender'], 'caller');
    assert.equal(headers['CG-Version'], 'v1r3');
    assert.match(headers.traceparent, /^00-/);
    assert.equal((await reports(search, 'caller', held, 'c1')).status, 202);
    assert.equal((await worker.take()).inbox[0].tool_call_id, 'c1');
    await eventually(async () => assert.deepEqual(await search.claim(), []));
  });

  it('accepts the report of a tool call as a message', async (t) => {
    const parley = await testParley(t);
    const { caller, search, held } = await scene(parley);
    await accepted(caller, command('caller', held, 'c1'));
    const { payload } = (await search.claim())[0].message;
    const tool_result_card_id = await madeCard(search, 'tool.result', { status: 'success', result: 1 });
    await accepted(search, {
      subject: 'cg.v1r3.default.public.cmd.agent.caller.tool_result',
      headers: { 'CG-Recursion-Depth': 0 },
      payload: { ...payload, after_execution: 'suspend', status: 'success', tool_result_card_id },
    });
    assert.equal((await headOf(caller, 'caller')).status, 'running');
  });

  it('delivers a tool command to an agent of any dialect and stores its result as the card of the report', async (t) => {
    const parley = await testParley(t);
    await registerTool(parley.admin);
    const caller = await groundAgent(parley, 'caller');
    const search = await parley.agent('search', { dialect: 'round-table', capabilities: [] });
    const worker = new Worker(caller);
    await enqueued(parley.admin, 'caller');
    const held = await worker.begin();
    await worker.suspend(held, ['c1', 'c2']);
    await accepted(caller, command('caller', held, 'c1'));
    await accepted(caller, command('caller', held, 'c2'));
    const [first] = await search.claim();
    await search.complete(first.message.id, { hits: 3 });
    const [second] = await search.claim();
    await search.fail(second.message.id, { error: 'invalid_params', message: 'no such index' });
    await eventually(async () => assert.equal((await headOf(caller, 'caller')).status, 'running'));
    const { inbox } = await worker.take();
    const found = await Promise.all(
      inbox.map(async ({ status, tool_result_card_id }) => {
        const { body } = await caller.call('GET', `/v1/cards/${tool_result_card_id}`);
        const { after_execution, ...rest } = body.content;
        assert.deepEqual([after_execution, rest.status], ['suspend', status]);
        assert.deepEqual(Object.keys(rest).toSorted(), ['error', 'result', 'status']);
        return [status, rest.result, rest.error];
      }),
    );
    assert.deepEqual(
      found.toSorted(([a], [b]) => String(b).localeCompare(String(a))),
      [
        ['success', { hits: 3 }, null],
        ['failed', null, { code: 'invalid_params', message: 'no such index' }],
      ],
    );
  });

  it('ends the turn when the result of an agent of any dialect says so', async (t) => {
    const parley = await testParley(t);
    await registerTool(parley.admin);
    const caller = await groundAgent(parley, 'caller');
    const search = await parley.agent('search', { dialect: 'round-table', capabilities: [] });
    const worker = new Worker(caller);
    const id = await enqueued(parley.admin, 'caller');
    const held = await worker.begin();
    await worker.suspend(held, ['c1']);
    await accepted(caller, command('caller', held, 'c1'));
    const [claimed] = await search.claim();
    await search.complete(claimed.message.id, { __cg_control: { after_execution: 'terminate' } });
    await eventually(async () => assert.equal((await turnOf(parley.admin, id)).status, 'success'));
  });

  it('writes a timeout report when a tool call reaches its deadline', async (t) => {
    const parley = await testParley(t);
    const { worker, caller, held } = await scene(parley, ['c1'], { options: { deadline_seconds: 20 } });
    await accepted(caller, command('caller', held, 'c1'));
    parley.clock.advance(19_000);
    assert.equal((await headOf(caller, 'caller')).status, 'suspended');
    parley.clock.advance(1001);
    await eventually(async () => assert.equal((await headOf(caller, 'caller')).status, 'running'));
    const [row] = (await worker.take()).inbox;
    assert.equal(row.message_type, 'timeout');
    assert.equal(row.status, 'timeout');
  });

  it('cancels a tool command when its turn ends', async (t) => {
    const parley = await testParley(t);
    const { caller, search, held, id } = await scene(parley);
    await accepted(caller, command('caller', held, 'c1'));
    await parley.admin.call('POST', `/v1/turns/${id}/stop`, { turn_epoch: held.turn_epoch });
    await eventually(async () => assert.deepEqual(await search.claim(), []));
  });

  it('rejects a tool command of a stale turn, for another agent, or before the turn waits for it', async (t) => {
    const parley = await testParley(t);
    const { caller, search, held } = await scene(parley);
    const refusals: [object, string][] = [
      [command('caller', { ...held, turn_epoch: 9 }, 'c1'), 'stale_turn'],
      [command('caller', { ...held, agent_turn_id: 'turn_x' }, 'c1'), 'stale_turn'],
      [command('search', held, 'c1'), 'from_mismatch'],
      [command('caller', held, 'c9'), 'protocol_violation'],
      [command('caller', held, 'c1', { args: {} }), 'protocol_violation'],
      [command('caller', held, 'c1', { tool_name: 'unknown' }), 'tool_not_found'],
      [{ ...command('caller', held, 'c1'), headers: { 'CG-Recursion-Depth': '3' } }, 'protocol_violation'],
      [{ ...command('caller', held, 'c1'), subject: SUBJECT.replace('execute', 'other') }, 'protocol_violation'],
      [{ ...command('caller', held, 'c1'), subject: SUBJECT.replace('default', 'elsewhere') }, 'protocol_violation'],
      [{ ...command('caller', held, 'c1'), subject: SUBJECT.replace('public', 't_x') }, 'protocol_violation'],
      [{ ...command('caller', held, 'c1'), subject: SUBJECT.replace('v1r3', 'v2') }, 'unsupported_version'],
      [{ subject: SUBJECT.replace('v1r3', 'v2'), payload: { as: 'in v2' } }, 'unsupported_version'],
    ];
    for (const [message, code] of refusals) {
      const { body } = await caller.send(message);
      assert.equal(body.code, code, JSON.stringify(body));
    }
    assert.deepEqual(await search.claim(), []);
  });

  it('deduplicates a repeated tool command', async (t) => {
    const parley = await testParley(t);
    const { caller, search, held } = await scene(parley);
    await accepted(caller, command('caller', held, 'c1'));
    const again = await caller.send(command('caller', held, 'c1'));
    assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    assert.equal((await search.claim({ max: 10 })).length, 1);
  });

  it('warns about header names in the payload of a tool command', async (t) => {
    const parley = await testParley(t);
    const { caller, held } = await scene(parley);
    await accepted(caller, command('caller', held, 'c1', { 'CG-User-ID': 'x' }));
    assert.ok(parley.logged.includes('warn payload contains header keys'));
  });
});
