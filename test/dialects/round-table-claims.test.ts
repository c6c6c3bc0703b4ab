import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertRefused, refusedWithoutTrace, settled } from '../http/refusal.ts';
import { about, type TestAgent } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

const reports: [name: string, send: (agent: TestAgent, id: string) => ReturnType<TestAgent['send']>][] = [
  ['task.progress', (agent, id) => agent.progress(id)],
  ['task.result', (agent, id) => agent.complete(id)],
  ['task.failed', (agent, id) => agent.fail(id)],
];

describe('Round Table task.claimed', () => {
  it('claims a task by task.claimed, and keeps the payload', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    const note = { estimatedDurationSeconds: 120, message: 'Acknowledged. Scanning threat feeds...' };
    const reply = await galahad.claimed(id, note);
    assert.equal(reply.status, 202);
    assert.equal(reply.body.taskId, id);
    const task = await tim.task(id);
    assert.equal(task.state, 'claimed');
    assert.equal(task.status, 'in_progress');
    assert.equal(task.metadata.agent, 'galahad');
    assert.deepEqual(task.claim, note);
    assert.deepEqual(await galahad.claim(), []);
  });

  it('adds the payload of task.claimed once to a task that the sender already holds, and changes nothing else', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    await galahad.claim();
    await galahad.progress(id);
    const before = await tim.task(id);
    parley.clock.advance(1000);
    const reply = await galahad.claimed(id, { message: 'late' });
    assert.equal(reply.status, 202);
    await settled(parley);
    assert.deepEqual(await tim.task(id), { ...before, claim: { message: 'late' } });
    await galahad.claimed(id, { message: 'later' });
    assert.deepEqual((await tim.task(id)).claim, { message: 'late' });
  });

  it('accepts a repeated task.claimed of the holder once, and rejects another payload under its id', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    await galahad.claim();
    const message = about('task.claimed', 'galahad', id, { message: 'mine' });
    assert.equal((await galahad.send(message)).status, 202);
    const again = await galahad.send(message);
    assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    const other = { ...message, payload: { message: 'yours' } };
    await refusedWithoutTrace(parley, 409, 'id_reused', () => galahad.send(other));
  });

  it('ignores task.claimed from the agent that completed the task, and rejects it from any other', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad, kay] = [await parley.agent('tim'), await parley.agent('galahad'), await parley.agent('kay')];
    const id = await tim.request();
    await galahad.complete(id);
    const before = await tim.task(id);
    assert.equal((await galahad.claimed(id)).status, 202);
    assert.deepEqual(await tim.task(id), before);
    await refusedWithoutTrace(parley, 409, 'task_ended', () => kay.claimed(id));
  });

  it('accepts a repeated task.claimed as the same claim', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    const message = about('task.claimed', 'galahad', id, {});
    assert.equal((await galahad.send(message)).status, 202);
    const again = await galahad.send(message);
    assert.equal(again.status, 200);
    assert.equal(again.body.duplicate, true);
    assert.equal((await tim.task(id)).attempt, 1);
  });
});

describe('Round Table report on an unclaimed task', () => {
  for (const [name, send] of reports) {
    it(`claims an unclaimed task for an eligible agent that reports on it: ${name}`, async (t) => {
      const parley = await testParley(t);
      const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
      const id = await tim.request();
      assert.equal((await send(galahad, id)).status, 202);
      assert.equal((await tim.task(id)).attempt, 1);
      await settled(parley);
      const { events } = (await tim.call('GET', '/v1/events?type=task.claimed')).body;
      assert.deepEqual(
        events.map(({ data }: { data: { taskId: string } }) => data.taskId),
        [id],
      );
    });
  }
});

describe('Round Table task of another holder', () => {
  it('rejects task.claimed for a task of another holder, and names the holder', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad, kay] = [await parley.agent('tim'), await parley.agent('galahad'), await parley.agent('kay')];
    const id = await tim.request();
    await galahad.claim();
    const reply = await refusedWithoutTrace(parley, 409, 'already_claimed', () => kay.claimed(id));
    assert.equal(reply.body.holder, 'galahad');
  });

  for (const [name, send] of reports) {
    it(`rejects a report from an agent that does not hold the task, and names the holder: ${name}`, async (t) => {
      const parley = await testParley(t);
      const [tim, galahad, kay] = [await parley.agent('tim'), await parley.agent('galahad'), await parley.agent('kay')];
      const id = await tim.request();
      await galahad.claim();
      const reply = await refusedWithoutTrace(parley, 409, 'not_holder', () => send(kay, id));
      assert.equal(reply.body.holder, 'galahad');
    });
  }

  it('rejects a renewal by an agent that does not hold the task', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad, kay] = [await parley.agent('tim'), await parley.agent('galahad'), await parley.agent('kay')];
    const id = await tim.request();
    await galahad.claim();
    const renew = () => kay.call('POST', `/v1/tasks/${id}/renew`);
    // An agent without a part in the task does not learn of it.
    await refusedWithoutTrace(parley, 404, 'task_not_found', renew);
  });
});

describe('Round Table agent of another domain', () => {
  const all: typeof reports = [['task.claimed', (agent, id) => agent.claimed(id)], ...reports];
  for (const [name, send] of all) {
    it(`rejects a report from an agent of another domain as task_not_found: ${name}`, async (t) => {
      const parley = await testParley(t);
      const tim = await parley.agent('tim');
      const bedivere = await parley.agent('bedivere', { capabilities: ['home.scene'] });
      const id = await tim.request();
      await refusedWithoutTrace(parley, 404, 'task_not_found', () => send(bedivere, id));
    });
  }

  it('rejects a claim from a domain that the agent does not serve', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    await tim.request({ payload: { task: 'home.scene' } });
    assert.deepEqual(await galahad.claim(), []);
    await refusedWithoutTrace(parley, 403, 'not_eligible', () =>
      galahad.call('POST', '/v1/claims', { domains: ['security', 'home'] }),
    );
  });
});

describe('Round Table task for a named agent', () => {
  it('gives a task for a named agent only to that agent', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad, kay] = [await parley.agent('tim'), await parley.agent('galahad'), await parley.agent('kay')];
    const id = await tim.request({ to: 'galahad' });
    assert.deepEqual(await kay.claim(), []);
    await refusedWithoutTrace(parley, 403, 'not_eligible', () => kay.claimed(id));
    assertRefused(await kay.call('GET', `/v1/tasks/${id}`), 404, 'task_not_found');
    assert.equal((await galahad.claim())[0].message.id, id);
  });

  it('gives a task for a named agent in any domain, also an unknown one', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request({ to: 'galahad', payload: { task: 'alchemy.gold' } });
    assert.equal((await galahad.claim())[0].message.id, id);
  });

  it('gives a task for a named agent before domain tasks of the same priority, and after more urgent ones', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const [normal, high] = [await tim.request(), await tim.request({ priority: 'high' })];
    const critical = await tim.request({ priority: 'critical' });
    const directed = await tim.request({ to: 'galahad' });
    const order: string[] = [];
    for (let claims = 0; claims < 4; claims++) order.push((await galahad.claim())[0].message.id);
    assert.deepEqual(order, [critical, high, directed, normal]);
  });
});

describe('Round Table claim', () => {
  it('claims tasks only from the domains that the claim names', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const galahad = await agent('galahad', { domains: ['security', 'home'] });
    await tim.request();
    const home = await tim.request({ payload: { task: 'home.scene' } });
    const claimed = await galahad.claim({ domains: ['home'], max: 10 });
    assert.deepEqual(
      claimed.map(({ message }) => message.id),
      [home],
    );
  });

  it('returns the same tasks for the same claimId', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    await Promise.all([tim.request(), tim.request(), tim.request()]);
    const first = await galahad.claim({ max: 2, claimId: 'once' });
    assert.equal(first.length, 2);
    assert.deepEqual(await galahad.claim({ max: 2, claimId: 'once' }), first);
    assert.equal((await galahad.claim({ max: 2, claimId: 'twice' })).length, 1);
  });

  it('returns a later task for the claimId of an empty claim', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    assert.deepEqual(await galahad.claim({ claimId: 'once' }), []);
    const id = await tim.request();
    assert.equal((await galahad.claim({ claimId: 'once' }))[0].message.id, id);
  });

  it('rejects a repeated claim for the same reason', async (t) => {
    const { agent } = await testParley(t);
    const galahad = await agent('galahad');
    const claim = () => galahad.call('POST', '/v1/claims', { claimId: 'once', domains: ['home'] });
    assertRefused(await claim(), 403, 'not_eligible');
    assertRefused(await claim(), 403, 'not_eligible');
  });

  it('claims a task behind cancelled ones', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    for (const id of [await tim.request(), await tim.request()]) await tim.call('POST', `/v1/tasks/${id}/cancel`);
    const id = await tim.request();
    assert.deepEqual(
      (await galahad.claim()).map(({ message }) => message.id),
      [id],
    );
  });

  it('returns a task to a waiting agent as soon as it arrives', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const waiting = galahad.claim({ wait: 20 });
    const id = await tim.request();
    assert.equal((await waiting)[0].message.id, id);
  });

  it('claims with the admin key for the agent that the claim names', async (t) => {
    const { agent, admin } = await testParley(t);
    const tim = await agent('tim');
    await agent('galahad');
    const id = await tim.request();
    assertRefused(await admin.call('POST', '/v1/claims', {}), 400, 'invalid_request');
    assertRefused(await admin.call('POST', '/v1/claims', { agent: 'mordred' }), 422, 'unknown_agent');
    const { body } = await admin.call('POST', '/v1/claims', { agent: 'galahad' });
    assert.equal(body.tasks[0].message.id, id);
    assert.equal((await tim.task(id)).metadata.agent, 'galahad');
  });
});
