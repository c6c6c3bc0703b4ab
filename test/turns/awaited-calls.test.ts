import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { callMessage, groundAgent, taskEvents, Worker } from '../support/ground.ts';
import { taskFormat } from '../support/task-format.ts';
import { testParley } from '../support/test-parley.ts';

describe('a call that is waited for', () => {
  it('is answered with its task event when the turn ends, also where it is said again later', async (t) => {
    const parley = await testParley(t);
    const arthur = await groundAgent(parley, 'arthur');
    const worker = new Worker(await groundAgent(parley, 'merlin'));
    const call = callMessage('merlin');
    const answer = arthur.call('POST', '/v1/messages?wait=20', call);
    const held = await worker.take({ wait: 20 });
    await worker.ok(held, 'start');
    const card = await worker.deliver(held);
    const { status, body } = await answer;
    assert.deepEqual([status, body.agentTurnId], [202, held.agent_turn_id]);
    const { subject, payload } = body.outcome;
    assert.equal(subject, 'cg.v1r3.default.public.evt.agent.merlin.task');
    assert.deepEqual([payload.status, payload.deliverable_card_id], ['success', card]);
    const [told] = await taskEvents(parley.admin, held.agent_turn_id);
    assert.deepEqual(body.outcome, {
      subject: told.data.subject,
      headers: told.data.headers,
      payload: told.data.payload,
    });
    const again = await arthur.call('POST', '/v1/messages?wait=20', call);
    assert.deepEqual([again.status, again.body.outcome], [200, body.outcome]);
  });

  it('is answered without an outcome where none comes in time', async (t) => {
    const parley = await testParley(t);
    const arthur = await groundAgent(parley, 'arthur');
    await groundAgent(parley, 'merlin');
    let isAnswered = false;
    const answer = arthur.call('POST', '/v1/messages?wait=5', callMessage('merlin')).finally(() => {
      isAnswered = true;
    });
    await eventually(() => {
      parley.clock.advance(1000);
      assert.ok(isAnswered);
    });
    const { status, body } = await answer;
    assert.deepEqual([status, body.outcome, typeof body.agentTurnId], [202, undefined, 'string']);
  });

  it('is answered with what an agent of another dialect asks, and once that has its answer with the end', async (t) => {
    const parley = await testParley(t);
    const [arthur, cook] = [await groundAgent(parley, 'arthur'), await parley.agent('cook', taskFormat)];
    const call = callMessage('cook');
    const asked = arthur.call('POST', '/v1/messages?wait=20', call);
    const [task] = await cook.claim({ wait: 20 });
    const { id } = task.message;
    assert.equal((await cook.send({ id, status: 'input_required', input: { prompt: 'Why?' } })).status, 202);
    const { outcome, agentTurnId } = (await asked).body;
    assert.deepEqual([outcome.payload.status, outcome.payload.metadata.input.prompt], ['suspended', 'Why?']);
    const answered = await arthur.call('POST', `/v1/tasks/${agentTurnId}/input`, { input: 'because' });
    assert.equal(answered.status, 202, JSON.stringify(answered.body));
    const ended = arthur.call('POST', '/v1/messages?wait=20', call);
    assert.equal((await cook.send({ id, status: 'completed', result: 'done' })).status, 202);
    assert.equal((await ended).body.outcome.payload.status, 'success');
  });
});
