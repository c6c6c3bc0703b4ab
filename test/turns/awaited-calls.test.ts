import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { callMessage, groundAgent, taskEvents, Worker } from '../support/ground.ts';
import { taskFormat } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

describe('turn call with wait', () => {
  it('returns the task event of a turn to a call that waits for it, and again when the call is repeated', async (t) => {
    const parley = await testParley(t);
    const requester = await groundAgent(parley, 'requester');
    const worker = new Worker(await groundAgent(parley, 'worker'));
    const call = callMessage('worker');
    const answer = requester.call('POST', '/v1/messages?wait=20', call);
    const held = await worker.take({ wait: 20 });
    await worker.ok(held, 'start');
    const card = await worker.deliver(held);
    const { status, body } = await answer;
    assert.deepEqual([status, body.agentTurnId], [202, held.agent_turn_id]);
    const { subject, payload } = body.outcome;
    assert.equal(subject, 'cg.v1r3.default.public.evt.agent.worker.task');
    assert.deepEqual([payload.status, payload.deliverable_card_id], ['success', card]);
    const [told] = await taskEvents(parley.admin, held.agent_turn_id);
    assert.deepEqual(body.outcome, {
      subject: told.data.subject,
      headers: told.data.headers,
      payload: told.data.payload,
    });
    const again = await requester.call('POST', '/v1/messages?wait=20', call);
    assert.deepEqual([again.status, again.body.outcome], [200, body.outcome]);
  });

  it('returns no outcome when the turn does not end within the wait', async (t) => {
    const parley = await testParley(t);
    const requester = await groundAgent(parley, 'requester');
    await groundAgent(parley, 'worker');
    let isAnswered = false;
    const answer = requester.call('POST', '/v1/messages?wait=5', callMessage('worker')).finally(() => {
      isAnswered = true;
    });
    await eventually(() => {
      parley.clock.advance(1000);
      assert.ok(isAnswered);
    });
    const { status, body } = await answer;
    assert.deepEqual([status, body.outcome, typeof body.agentTurnId], [202, undefined, 'string']);
  });

  it('returns the question of an agent of another dialect, and the end of the turn after the answer', async (t) => {
    const parley = await testParley(t);
    const [requester, cook] = [await groundAgent(parley, 'requester'), await parley.agent('cook', taskFormat)];
    const call = callMessage('cook');
    const asked = requester.call('POST', '/v1/messages?wait=20', call);
    const [task] = await cook.claim({ wait: 20 });
    const { id } = task.message;
    assert.equal((await cook.send({ id, status: 'input_required', input: { prompt: 'Why?' } })).status, 202);
    const { outcome, agentTurnId } = (await asked).body;
    assert.deepEqual([outcome.payload.status, outcome.payload.metadata.input.prompt], ['suspended', 'Why?']);
    const answered = await requester.call('POST', `/v1/tasks/${agentTurnId}/input`, { input: 'because' });
    assert.equal(answered.status, 202, JSON.stringify(answered.body));
    const ended = requester.call('POST', '/v1/messages?wait=20', call);
    assert.equal((await cook.send({ id, status: 'completed', result: 'done' })).status, 202);
    assert.equal((await ended).body.outcome.payload.status, 'success');
  });
});
