import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cardRef, computeCardId } from '../../shared/cards/card.ts';
import { eventually } from '../support/eventually.ts';
import {
  called,
  enqueued,
  eventsOf,
  groundAgent,
  headOf,
  madeCard,
  reports,
  taskEvents,
  toolReport,
  Worker,
} from '../support/ground.ts';
import { testParley } from '../support/test-parley.ts';

describe('invalid turn call', () => {
  for (const mode of ['transfer', 'notify', 'other']) {
    it(`rejects the mode ${mode} as a violation and publishes one failed turn`, async (t) => {
      const parley = await testParley(t);
      const worker = new Worker(await groundAgent(parley, 'worker'));
      const call = called('worker', { mode });
      const first = await parley.admin.call('POST', '/v1/turns', call);
      const second = await parley.admin.call('POST', '/v1/turns', call);
      for (const reply of [first, second]) {
        assert.equal(reply.status, 422);
        assert.equal(reply.body.code, 'protocol_violation');
        assert.equal(reply.body.violated, 'mode');
      }
      assert.equal(first.body.agent_turn_id, second.body.agent_turn_id);
      const [told, ...more] = await eventually(async () => {
        const events = await taskEvents(parley.admin, first.body.agent_turn_id);
        assert.ok(events.length > 0);
        return events;
      });
      assert.equal(more.length, 0);
      assert.equal(told.data.subject, 'cg.v1r3.default.public.evt.agent.worker.task');
      assert.equal(told.data.payload.status, 'failed');
      assert.equal(told.data.payload.error_code, 'protocol_violation');
      assert.ok(told.data.payload.deliverable_card_id);
      assert.equal(await worker.lease(), undefined);
    });
  }

  for (const field of ['agent_id', 'correlation_id']) {
    it(`rejects a call without ${field} as a violation that names the field`, async (t) => {
      const parley = await testParley(t);
      await groundAgent(parley, 'worker');
      const reply = await parley.admin.call('POST', '/v1/turns', called('worker', { [field]: undefined }));
      assert.equal(reply.status, 422);
      assert.deepEqual([reply.body.code, reply.body.violated], ['protocol_violation', field]);
      assert.deepEqual(
        reply.body.issues.map((issue: { path: string }) => issue.path),
        [field],
      );
    });
  }

  it('rejects a call of an unregistered agent and keeps its correlation id free', async (t) => {
    const parley = await testParley(t);
    const call = called('nobody');
    assert.equal((await parley.admin.call('POST', '/v1/turns', call)).body.code, 'unknown_agent');
    await groundAgent(parley, 'nobody');
    assert.equal((await parley.admin.call('POST', '/v1/turns', call)).status, 201);
  });
});

describe('channels', () => {
  it('allows a turn only between agents that may use its channel', async (t) => {
    const parley = await testParley(t);
    const channels = ['public', 't_round'];
    const [inside, outside] = [await groundAgent(parley, 'inside', { channels }), await groundAgent(parley, 'outside')];
    const worker = new Worker(await groundAgent(parley, 'worker', { channels }));
    const refused = await outside.call('POST', '/v1/turns', called('worker', { channel_id: 't_round' }));
    assert.equal(refused.status, 403);
    assert.equal(refused.body.code, 'channel_forbidden');
    const unreachable = await inside.call('POST', '/v1/turns', called('outside', { channel_id: 't_round' }));
    assert.equal(unreachable.body.code, 'channel_forbidden');
    const id = await enqueued(inside, 'worker', { channel_id: 't_round' });
    const held = await worker.begin();
    await worker.suspend(held, ['c1']);
    assert.equal((await outside.call('GET', `/v1/turns/${id}`)).status, 404);
    const stranger = await groundAgent(parley, 'stranger', { role: 'coordinator' });
    assert.equal((await reports(stranger, 'worker', held, 'c1')).body.code, 'channel_forbidden');
    assert.equal((await reports(worker.agent, 'worker', held, 'c1')).status, 202);
    await worker.deliver(held);
    await eventually(async () => assert.equal((await taskEvents(inside, id)).length, 1));
    assert.equal(
      (await eventsOf(inside, 'evt.agent.task'))[0]?.data.subject,
      'cg.v1r3.default.t_round.evt.agent.worker.task',
    );
    assert.deepEqual(await eventsOf(outside, 'evt.agent.task', 'evt.agent.state', 'cmd.agent.wakeup'), []);
  });
});

describe('reports', () => {
  it('applies one report per tool call and ignores late, unknown and repeated ones', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    assert.deepEqual((await reports(parley.admin, 'worker', held, 'c1')).body, { applied: false, reason: 'unknown' });
    await worker.suspend(held, ['c1', 'c2']);
    assert.deepEqual((await reports(parley.admin, 'worker', held, 'c1')).body, { applied: true });
    const again = await reports(parley.admin, 'worker', held, 'c1', { status: 'failed' });
    assert.deepEqual([again.status, again.body], [200, { applied: false, reason: 'duplicate' }]);
    const epoch = { turn_epoch: 7 };
    assert.deepEqual((await reports(parley.admin, 'worker', held, 'c2', epoch)).body, {
      applied: false,
      reason: 'late',
    });
    const nobody = await reports(parley.admin, 'nobody', held, 'c2');
    assert.deepEqual(nobody.body, { applied: false, reason: 'late' });
    assert.equal((await headOf(parley.admin, 'worker')).status, 'suspended');
    await reports(parley.admin, 'worker', held, 'c2');
    const { inbox } = await worker.take();
    assert.deepEqual(
      inbox.map(({ tool_call_id, status }) => [tool_call_id, status]),
      [
        ['c1', 'success'],
        ['c2', 'success'],
      ],
    );
    await worker.deliver(held);
    assert.deepEqual((await reports(parley.admin, 'worker', held, 'c2')).body, { applied: false, reason: 'late' });
  });

  it('applies all of 32 concurrent reports, each sent twice, under any tool call id', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    // Some ids are names of Object.prototype.
    const calls = ['constructor', 'toString', '__proto__', 'a.b', ...Array.from({ length: 28 }, (_, at) => `c${at}`)];
    await worker.suspend(held, calls);
    const replies = await Promise.all([...calls, ...calls].map((call) => reports(parley.admin, 'worker', held, call)));
    assert.equal(replies.filter(({ body }) => body.applied).length, calls.length);
    assert.equal((await worker.take()).inbox.length, calls.length);
  });

  it('ends a turn with the card of a report that terminates it', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const id = await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    await worker.suspend(held, ['c1', 'c2']);
    const report = await toolReport(parley.admin, 'worker', held, 'c1', {
      after_execution: 'terminate',
      status: 'partial',
    });
    await parley.admin.call('POST', `/v1/turns/${id}/reports`, report);
    assert.equal((await headOf(parley.admin, 'worker')).status, 'idle');
    const [told] = await eventually(async () => {
      const events = await taskEvents(parley.admin, id);
      assert.equal(events.length, 1);
      return events;
    });
    const { status, deliverable_card_id, tool_result_card_id } = told.data.payload;
    const card = report.tool_result_card_id;
    assert.deepEqual([status, deliverable_card_id, tool_result_card_id], ['partial', card, card]);
    assert.equal((await worker.say(held, 'step', { step_id: 's', phase: 'p' })).body.code, 'stale_turn');
  });

  it('follows after_execution in __cg_control of the card and ignores unknown values', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const cardThat = (after_execution: string) =>
      madeCard(parley.admin, 'tool.result', { status: 'success', result: { __cg_control: { after_execution } } });
    await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    await worker.suspend(held, ['c1', 'c2', 'c3']);
    const goOn = { after_execution: 'terminate', tool_result_card_id: await cardThat('suspend') };
    assert.equal((await reports(parley.admin, 'worker', held, 'c1', goOn)).status, 202);
    assert.equal((await headOf(parley.admin, 'worker')).status, 'suspended');
    const nonsense = { after_execution: 'suspend', tool_result_card_id: await cardThat('explode') };
    assert.equal((await reports(parley.admin, 'worker', held, 'c2', nonsense)).status, 202);
    assert.equal((await headOf(parley.admin, 'worker')).status, 'suspended');
    const end = { after_execution: 'suspend', tool_result_card_id: await cardThat('terminate') };
    assert.equal((await reports(parley.admin, 'worker', held, 'c3', end)).status, 202);
    assert.equal((await headOf(parley.admin, 'worker')).status, 'idle');
  });

  it('takes a join_response as the report of who joined the work, at the depth of the turn', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const pmo = await groundAgent(parley, 'pmo', { role: 'coordinator' });
    await enqueued(parley.admin, 'worker', { recursion_depth: 5 });
    const held = await worker.begin();
    await worker.suspend(held, ['c1']);
    const { message_type: _type, recursion_depth: _depth, ...payload } = await toolReport(pmo, 'worker', held, 'c1');
    const join = (headers: object, more: object = {}) =>
      pmo.send({
        subject: 'cg.v1r3.default.public.cmd.agent.worker.join_response',
        headers,
        payload: { ...payload, ...more },
      });
    for (const headers of [{}, { 'CG-Recursion-Depth': '4' }]) {
      assert.equal((await join(headers)).body.code, 'protocol_violation');
    }
    const depth = { 'CG-Recursion-Depth': '5' };
    assert.equal((await join(depth, { message_type: 'timeout' })).body.violated, 'subject');
    assert.equal((await join(depth, { message_type: 'join_response' })).status, 202);
    assert.equal((await join(depth)).body.duplicate, true);
    const [row] = (await worker.take()).inbox;
    assert.deepEqual([row.message_type, row.tool_call_id, row.status], ['tool_result', 'c1', 'success']);
  });

  it('rejects a report without the depth of the turn or with another depth', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker', { recursion_depth: 5 });
    const held = await worker.begin();
    await worker.suspend(held, ['c1']);
    for (const recursion_depth of [undefined, 0, 6]) {
      const reply = await reports(parley.admin, 'worker', held, 'c1', { recursion_depth });
      assert.equal(reply.status, 422, String(recursion_depth));
      assert.equal(reply.body.code, 'protocol_violation');
    }
    assert.equal((await headOf(parley.admin, 'worker')).status, 'suspended');
    assert.equal((await reports(parley.admin, 'worker', held, 'c1', { recursion_depth: 5 })).status, 202);
  });

  it('rejects a report without a required field, with an inline result, or with an unknown card', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    await worker.suspend(held, ['c1']);
    const required = [
      'tool_call_id',
      'agent_turn_id',
      'turn_epoch',
      'agent_id',
      'after_execution',
      'status',
      'tool_result_card_id',
    ];
    for (const field of required) {
      const reply = await reports(parley.admin, 'worker', held, 'c1', { [field]: undefined });
      assert.deepEqual([reply.body.code, reply.body.violated], ['protocol_violation', field]);
      assert.deepEqual(
        reply.body.issues.map((issue: { path: string }) => issue.path),
        [field],
      );
    }
    const inline = await reports(parley.admin, 'worker', held, 'c1', { result: { x: 1 } });
    assert.equal(inline.body.code, 'protocol_violation');
    const card = await madeCard(parley.admin, 'tool.result', { result: 1 });
    const elsewhere = computeCardId('elsewhere', 'tool.result', { result: 1 });
    for (const id of [`card_${'x'.repeat(43)}`, elsewhere, `${card}.terminate`, card.slice(0, -1), card.slice(0, 48)]) {
      const lost = await reports(parley.admin, 'worker', held, 'c1', { tool_result_card_id: id });
      assert.deepEqual([lost.status, lost.body.code, lost.body.unknown], [422, 'unknown_card', [id]]);
    }
    assert.equal((await headOf(parley.admin, 'worker')).status, 'suspended');
  });

  it('rejects a report of one type under the subject of another type', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker');
    const held = await worker.begin();
    await worker.suspend(held, ['c1']);
    const payload = await toolReport(worker.agent, 'worker', held, 'c1');
    const saidUnder = (suffix: string) =>
      worker.agent.send({ subject: `cg.v1r3.default.public.cmd.agent.worker.${suffix}`, payload });
    const refused = await saidUnder('timeout');
    assert.deepEqual(
      [refused.status, refused.body.code, refused.body.violated],
      [422, 'protocol_violation', 'subject'],
    );
    assert.equal((await headOf(parley.admin, 'worker')).status, 'suspended');
    assert.equal((await saidUnder('tool_result')).status, 202);
  });

  it('resumes the turn, or ends it as failed, when the card of a report has expired', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    for (const after_execution of ['suspend', 'terminate']) {
      const id = await enqueued(parley.admin, 'worker');
      const held = await worker.begin();
      await worker.suspend(held, ['c1']);
      const report = await toolReport(parley.admin, 'worker', held, 'c1', { after_execution });
      await parley.parley.deps.records.delete(cardRef('default', report.tool_result_card_id));
      const { status } = await parley.admin.call('POST', `/v1/turns/${id}/reports`, report);
      assert.equal(status, 202);
      if (after_execution === 'suspend') {
        const { inbox } = await worker.take();
        const gone = await worker.agent.call('GET', `/v1/cards/${inbox[0].tool_result_card_id}`);
        assert.deepEqual([gone.status, gone.body.code], [404, 'card_not_found']);
        await worker.deliver(held);
        continue;
      }
      const [told] = await eventually(async () => {
        const events = await taskEvents(parley.admin, id);
        assert.equal(events.length, 1);
        return events;
      });
      const { payload } = told.data;
      assert.deepEqual([payload.status, payload.error_code], ['failed', 'unknown_card']);
      assert.equal(payload.tool_result_card_id, report.tool_result_card_id);
      const { body } = await worker.agent.call('GET', `/v1/cards/${payload.deliverable_card_id}`);
      assert.equal(body.content.error_code, 'unknown_card');
    }
  });
});
