import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { called, enqueued, groundAgent, headOf, taskEvents, toolReport, Worker } from '../support/ground.ts';
import { testParley } from '../support/test-parley.ts';

describe('recursion depth', () => {
  it('runs a turn at depth 19 and rejects depths from 20', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker', { recursion_depth: 19 });
    const held = await worker.begin();
    assert.equal(held.inbox[0].recursion_depth, 19);
    await worker.deliver(held);
    for (const depth of [20, 21, 1000]) {
      const reply = await parley.admin.call('POST', '/v1/turns', called('worker', { recursion_depth: depth }));
      assert.equal(reply.status, 422);
      assert.equal(reply.body.code, 'recursion_depth_exceeded');
      const [told] = await eventually(async () => {
        const events = await taskEvents(parley.admin, reply.body.agent_turn_id);
        assert.equal(events.length, 1);
        return events;
      });
      assert.equal(told.data.payload.error_code, 'recursion_depth_exceeded');
      assert.equal(told.data.payload.status, 'failed');
    }
    assert.equal(await worker.lease(), undefined);
  });

  it('reads the recursion depth from the header', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const headers = { 'cg-recursion-depth': '7' };
    assert.equal((await parley.admin.call('POST', '/v1/turns', called('worker'), headers)).status, 201);
    assert.equal((await worker.take()).inbox[0].recursion_depth, 7);
  });

  const wrong: [string, { inHeader?: unknown; inBody?: unknown }][] = [
    ['negative', { inHeader: '-1' }],
    ['a text', { inHeader: 'x' }],
    ['a fraction', { inHeader: '1.5' }],
    ['true', { inHeader: true }],
    ['an object', { inHeader: {} }],
    ['too long', { inHeader: '1'.repeat(2000) }],
    ['negative in the body', { inBody: -1 }],
    ['a text in the body', { inBody: '3' }],
    ['a fraction in the body', { inBody: 0.5 }],
    ['two that differ', { inHeader: 2, inBody: 1 }],
  ];
  for (const [what, { inHeader, inBody }] of wrong) {
    it(`rejects a recursion depth that is ${what} as a violation and publishes one failed turn`, async (t) => {
      const parley = await testParley(t);
      const worker = new Worker(await groundAgent(parley, 'worker'));
      const call = called('worker', { recursion_depth: inBody });
      const inHttp: Record<string, string> = inHeader === undefined ? {} : { 'cg-recursion-depth': String(inHeader) };
      const headers = inHeader === undefined ? {} : { 'CG-Recursion-Depth': inHeader };
      const subject = 'cg.v1r3.default.public.cmd.agent.worker.turn';
      const replies = [
        await parley.admin.call('POST', '/v1/turns', call, inHttp),
        await parley.admin.call('POST', '/v1/messages', { subject, headers, payload: call }),
      ];
      for (const { status, body } of replies) {
        assert.deepEqual([status, body.code], [422, 'protocol_violation'], JSON.stringify(body));
        assert.match(body.violated, /recursion.depth/i);
      }
      const [id, again] = replies.map(({ body }) => body.agent_turn_id);
      assert.equal(id, again);
      const [told] = await eventually(async () => {
        const events = await taskEvents(parley.admin, id);
        assert.equal(events.length, 1);
        return events;
      });
      assert.deepEqual(
        [told.data.subject, told.data.payload.status, told.data.payload.error_code],
        ['cg.v1r3.default.public.evt.agent.worker.task', 'failed', 'protocol_violation'],
      );
      assert.equal(await worker.lease(), undefined);
      const right = { ...call, recursion_depth: 0 };
      assert.equal((await parley.admin.call('POST', '/v1/turns', right)).status, 201, 'the correlation id is free');
    });
  }

  it('rejects a report whose depths in header and body differ', async (t) => {
    const parley = await testParley(t);
    const worker = new Worker(await groundAgent(parley, 'worker'));
    await enqueued(parley.admin, 'worker', { recursion_depth: 2 });
    const held = await worker.begin();
    await worker.suspend(held, ['c1']);
    const payload = await toolReport(worker.agent, 'worker', held, 'c1', { recursion_depth: 1 });
    const subject = 'cg.v1r3.default.public.cmd.agent.worker.tool_result';
    const reply = await worker.agent.send({ subject, headers: { 'CG-Recursion-Depth': 2 }, payload });
    assert.deepEqual([reply.status, reply.body.violated], [422, 'recursion_depth']);
    assert.equal((await headOf(parley.admin, 'worker')).status, 'suspended');
  });

  it('takes the recorded depth for a repeated call that names none', async (t) => {
    const parley = await testParley(t);
    await groundAgent(parley, 'worker');
    const call = called('worker', { recursion_depth: 3 });
    const first = await parley.admin.call('POST', '/v1/turns', call);
    const again = await parley.admin.call('POST', '/v1/turns', { ...call, recursion_depth: undefined });
    assert.deepEqual([first.status, again.status, again.body], [201, 200, first.body]);
  });

  it('rejects a repeated call with another depth than recorded for its correlation id', async (t) => {
    const parley = await testParley(t);
    await groundAgent(parley, 'worker');
    const call = called('worker', { recursion_depth: 3 });
    await parley.admin.call('POST', '/v1/turns', call);
    const reply = await parley.admin.call('POST', '/v1/turns', { ...call, recursion_depth: 4 });
    assert.equal(reply.body.code, 'protocol_violation');
  });
});
