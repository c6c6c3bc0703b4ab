import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settled } from '../http/refusal.ts';
import { kitchen, tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

const begun = async (parley: TestParley) => {
  const { orchestrator, cook } = await kitchen(parley);
  const { id } = tfRequest();
  await orchestrator.send(tfRequest({ id }));
  assert.equal((await cook.claim()).length, 1);
  const say = async (said: object) => {
    const { status, body } = await cook.send({ id, ...said });
    return [status, body.duplicate];
  };
  const pass = async (ms: number) => {
    parley.clock.advance(ms);
    await settled(parley);
  };
  return { orchestrator, cook, id, say, pass };
};

const FRESH = [202, false];
const REPEATED = [200, true];
const BROKEN = { status: 'failed', error: { code: 'MCP_ERROR', message: 'broken' } };
const ALIVE = { status: 'in_progress' };
const QUESTION = { status: 'input_required', input: { prompt: 'How many servings?' } };

describe('repeated Task Format response', () => {
  it('takes a repeated failure as a duplicate until the next claim of its agent, and as a new failure after it', async (t) => {
    const { orchestrator, cook, id, say, pass } = await begun(await testParley(t));
    assert.deepEqual(await say(BROKEN), FRESH);
    assert.deepEqual(await say(BROKEN), REPEATED);
    await pass(1000);
    assert.deepEqual(await say(BROKEN), REPEATED);
    assert.equal((await orchestrator.task(id)).attempt, 1);
    assert.equal((await cook.claim()).length, 1);
    assert.deepEqual(await say(BROKEN), FRESH);
    assert.deepEqual(await say(BROKEN), REPEATED);
    const task = await orchestrator.task(id);
    assert.deepEqual([task.state, task.attempt], ['requested', 2]);
    assert.ok(task.retryAt);
  });

  it('fails no attempt of another agent because of a repeated failure', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, id, say, pass } = await begun(parley);
    await say(BROKEN);
    const helper = await parley.agent('helper', { dialect: 'task-format', capabilities: ['parse_recipe'] });
    await pass(1000);
    assert.equal((await helper.claim()).length, 1);
    assert.deepEqual(await say(BROKEN), REPEATED);
    assert.equal((await orchestrator.task(id)).metadata.agent, 'helper');
  });

  it('renews the lease of a task with repeated progress', async (t) => {
    const { orchestrator, id, say, pass } = await begun(await testParley(t));
    const until = async () => Date.parse((await orchestrator.task(id)).lease.until);
    assert.deepEqual(await say(ALIVE), FRESH);
    const first = await until();
    for (const minute of [4, 8, 12]) {
      await pass(240_000);
      assert.deepEqual(await say(ALIVE), REPEATED);
      assert.equal(await until(), first + minute * 60_000);
    }
    const { attempt, history } = await orchestrator.task(id);
    assert.equal(attempt, 1);
    assert.equal(history.filter(({ event }: { event: string }) => event === 'progress').length, 1);
  });

  it('takes repeated progress as new in another attempt', async (t) => {
    const { orchestrator, cook, id, say, pass } = await begun(await testParley(t));
    assert.deepEqual(await say(ALIVE), FRESH);
    await pass(300_001);
    assert.equal((await cook.claim()).length, 1);
    assert.deepEqual(await say(ALIVE), FRESH);
    await pass(0);
    const { state, history } = await orchestrator.task(id);
    assert.equal(state, 'in_progress');
    assert.equal(history.filter(({ event }: { event: string }) => event === 'progress').length, 2);
  });

  it('takes a repeated question as new only after an answer', async (t) => {
    const { orchestrator, id, say } = await begun(await testParley(t));
    const answer = (servings: number) => orchestrator.call('POST', `/v1/tasks/${id}/input`, { input: { servings } });
    assert.deepEqual(await say(QUESTION), FRESH);
    assert.deepEqual(await say(QUESTION), REPEATED);
    assert.equal((await orchestrator.inbox(20)).length, 1);
    assert.equal((await answer(0)).status, 202);
    assert.deepEqual(await say(QUESTION), FRESH);
    assert.deepEqual(await say(QUESTION), REPEATED);
    assert.equal((await orchestrator.task(id)).state, 'input_required');
    assert.equal((await answer(4)).status, 202);
  });

  it('adds a question to the inbox of the requester each time it is asked', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, id, say, pass } = await begun(parley);
    await say(QUESTION);
    await orchestrator.call('POST', `/v1/tasks/${id}/input`, { input: 2 });
    await say(QUESTION);
    await pass(0);
    assert.equal((await orchestrator.inbox()).length, 2);
  });
});
