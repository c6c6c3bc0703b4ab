import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { assertRefused, settled } from '../http/refusal.ts';
import type { TestAgent } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

const NATIVE = { dialect: 'native', capabilities: [] };
const LEASE_MS = 300_000;

const scene = async (t: TestContext) => {
  const parley = await testParley(t);
  const requester = await parley.agent('requester', NATIVE);
  const [worker, other] = [await parley.agent('worker'), await parley.agent('other')];
  const id = randomUUID();
  const request = { kind: 'request', id, capability: 'security.briefing', input: { scope: 'daily' } };
  assert.equal((await requester.send(request)).status, 202);
  return { parley, requester, worker, other, id };
};

const claimNative = async (agent: TestAgent) =>
  (await agent.call('POST', '/v1/claims', { dialect: 'native' })).body.tasks[0];

const putStep = (agent: TestAgent, id: string, name: string, value: unknown, more: object = {}) =>
  agent.call('PUT', `/v1/tasks/${id}/steps/${encodeURIComponent(name)}`, { value, ...more });

describe('steps of a task', () => {
  it('hands the finished steps to the next attempt, whichever worker makes it', async (t) => {
    const { parley, worker, other, id } = await scene(t);
    assert.equal((await claimNative(worker)).steps, undefined);
    const large = 'x'.repeat(10_000);
    assert.deepEqual((await putStep(worker, id, 'collect', { facts: [1, 2] })).body.duplicate, false);
    assert.equal((await putStep(worker, id, 'write a report', large)).status, 200);
    parley.clock.advance(LEASE_MS);
    await settled(parley);
    const second = await claimNative(other);
    assert.equal(second.attempt, 2);
    assert.deepEqual(second.steps, { collect: { value: { facts: [1, 2] } }, 'write a report': { bytes: 10_002 } });
    const { body } = await other.call('GET', `/v1/tasks/${id}/steps/${encodeURIComponent('write a report')}`);
    assert.equal(body.value, large);
  });

  it('keeps the first value of a step, and answers it to whoever writes the step again', async (t) => {
    const { worker, id } = await scene(t);
    await claimNative(worker);
    await putStep(worker, id, 'collect', 'first');
    const { body } = await putStep(worker, id, 'collect', 'second');
    assert.deepEqual([body.value, body.duplicate], ['first', true]);
  });

  it('rejects a step of a worker that lost its lease, whether or not it holds the task again', async (t) => {
    const { parley, worker, other, id } = await scene(t);
    await claimNative(worker);
    parley.clock.advance(LEASE_MS);
    await settled(parley);
    assertRefused(await putStep(worker, id, 'collect', 1), 409, 'not_holder');
    await claimNative(other);
    assertRefused(await putStep(worker, id, 'collect', 1), 409, 'not_holder');
    await other.call('POST', `/v1/tasks/${id}/release`);
    await claimNative(worker);
    assertRefused(await putStep(worker, id, 'collect', 1, { attempt: 1 }), 409, 'stale_attempt');
    assert.equal((await putStep(worker, id, 'collect', 1, { attempt: 3 })).status, 200);
  });

  it('renews the lease with each step', async (t) => {
    const { parley, worker, other, id } = await scene(t);
    await claimNative(worker);
    for (const name of ['a', 'b', 'c']) {
      parley.clock.advance(LEASE_MS - 1000);
      await settled(parley);
      assert.equal((await putStep(worker, id, name, null)).status, 200);
    }
    assert.equal(await claimNative(other), undefined);
  });

  it('keeps the answer of a question as a step, so that a later attempt need not ask again', async (t) => {
    const { parley, requester, worker, other, id } = await scene(t);
    await claimNative(worker);
    const question = { kind: 'question', taskId: id, prompt: 'Send it?', step: 'ask/1' };
    assert.equal((await worker.send(question)).status, 202);
    assert.equal((await requester.send({ kind: 'answer', taskId: id, answer: { ok: true } })).status, 202);
    parley.clock.advance(LEASE_MS);
    await settled(parley);
    assert.deepEqual((await claimNative(other)).steps, { 'ask/1': { value: { ok: true } } });
  });

  it('returns a task to its queue with the answer of a question that asks for that, without spending an attempt', async (t) => {
    const { requester, worker, other, id } = await scene(t);
    for (const [step, agent] of [
      ['one', worker],
      ['two', other],
      ['three', worker],
    ] as const) {
      await claimNative(agent);
      const question = { kind: 'question', taskId: id, prompt: `${step}?`, step, requeue: true };
      assert.equal((await agent.send(question)).status, 202);
      assert.equal((await requester.send({ kind: 'answer', taskId: id, answer: `${step}!` })).status, 202);
    }
    const { attempt, steps } = await claimNative(other);
    assert.deepEqual(
      [attempt, steps],
      [4, { one: { value: 'one!' }, two: { value: 'two!' }, three: { value: 'three!' } }],
    );
    assert.equal(
      (await other.send({ kind: 'failure', taskId: id, code: 'x', message: 'x', retryable: true })).status,
      202,
    );
    const { state, history } = await requester.task(id);
    assert.equal(state, 'requested');
    const told = history.map(({ event, agent, answer }: Record<string, string>) =>
      [event, agent, answer].join(' ').trim(),
    );
    const asked = (agent: string, step: string) => [
      `claimed ${agent}`,
      `input_required ${agent}`,
      `input_given requester ${step}!`,
    ];
    const lines = told.filter((line: string) => !line.startsWith('released') && !line.startsWith('retrying'));
    assert.deepEqual(lines, [
      'requested requester',
      ...asked('worker', 'one'),
      ...asked('other', 'two'),
      ...asked('worker', 'three'),
      'claimed other',
    ]);
  });

  it('finds the tasks of a claim whose response was lost, though it kept no receipt', async (t) => {
    const { worker, id } = await scene(t);
    const claim = { claimId: 'lost', dialect: 'native' };
    assert.equal((await worker.call('POST', '/v1/claims', { ...claim, receipt: false })).body.tasks.length, 1);
    for (let times = 0; times < 2; times++) {
      const { tasks } = (await worker.call('POST', '/v1/claims', claim)).body;
      assert.deepEqual(
        tasks.map(({ message }: { message: { id: string } }) => message.id),
        [id],
      );
    }
  });

  it('rejects more than 200 steps, and names that no path can have', async (t) => {
    const { worker, id } = await scene(t);
    await claimNative(worker);
    for (let at = 0; at < 200; at++) assert.equal((await putStep(worker, id, `step ${at}`, at)).status, 200);
    assertRefused(await putStep(worker, id, 'one more', 1), 413, 'too_large');
    assertRefused(await putStep(worker, id, 'a.b', 1), 400, 'invalid_request');
    assert.equal((await putStep(worker, id, 'step 0', 5)).body.value, 0);
  });

  it('keeps steps named like members of every object apart from those', async (t) => {
    const { parley, worker, other, id } = await scene(t);
    await claimNative(worker);
    for (const name of ['__proto__', 'constructor', 'toString']) {
      assert.equal((await putStep(worker, id, name, name)).body.duplicate, false);
    }
    parley.clock.advance(LEASE_MS);
    await settled(parley);
    const { steps } = await claimNative(other);
    assert.deepEqual(Object.keys(steps).sort(), ['__proto__', 'constructor', 'toString']);
  });
});
