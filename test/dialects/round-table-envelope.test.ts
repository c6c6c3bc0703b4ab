import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { about, type TestAgent, taskRequest } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';

const nextIn = async (agent: TestAgent) => {
  const [message] = await agent.inbox(20);
  return message;
};

describe('Round Table request', () => {
  it('delivers every field of a request unchanged to its holder', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const request = taskRequest('tim', {
      version: '1.7.3',
      to: 'galahad',
      timestamp: '2026-02-08T15:00:00.125+02:00',
      correlationId: randomUUID(),
      priority: 'high',
      ttl: 120,
      constellation: { of: ['a', 'newer', 'minor', 'version'] },
      payload: {
        params: { scope: 'daily', focus: ['cve', 'threat-intel'], nothing: null },
        responseFormat: 'markdown',
        maxTokens: 4000,
        mood: 'grave',
      },
    });
    assert.equal((await tim.send(request)).status, 202);
    const [claimed] = await galahad.claim();
    assert.deepEqual(claimed.message, request);
  });

  it('fills missing fields of a request with the defaults of the contract', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const request = taskRequest('tim', { payload: { params: undefined } });
    await tim.send(request);
    const [claimed] = await galahad.claim();
    const payload = { task: 'security.briefing', params: {} };
    assert.deepEqual(claimed.message, { ...request, payload, priority: 'normal', ttl: 3600 });
  });

  it('reads the parent of a request from correlationId', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const parent = await tim.request();
    const child = await tim.request({ correlationId: parent });
    assert.equal((await tim.task(child)).parentTaskId, parent);
  });

  it('finds a task by its id in upper or lower case', async (t) => {
    const { agent } = await testParley(t);
    const tim = await agent('tim');
    const id = 'ABCDEF00-E29B-41D4-A716-446655440000';
    assert.equal((await tim.send(taskRequest('tim', { id }))).status, 202);
    assert.equal((await tim.send(about('task.result', 'tim', id, { status: 'completed', result: {} }))).status, 202);
    assert.equal((await tim.call('GET', `/v1/tasks/${id}`)).status, 200);
  });
});

describe('Round Table outcome', () => {
  it('delivers every field of a result unchanged to the requester', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request({ priority: 'high', ttl: 60 });
    await galahad.claim();
    const payload = {
      status: 'completed',
      result: { format: 'markdown', content: '## Briefing', metadata: { sourcesChecked: 5 } },
      confidence: 0.9,
    };
    const sent = {
      ...about('task.result', 'galahad', id, payload),
      version: '1.2.0',
      to: 'tim',
      timestamp: '2026-02-08T15:02:00.5-05:00',
      seal: 'red wax',
    };
    assert.equal((await galahad.send(sent)).status, 202);
    assert.deepEqual(await nextIn(tim), { ...sent, priority: 'high', ttl: 60 });
    assert.deepEqual((await tim.task(id)).result, payload.result);
  });

  it('delivers every field of a failure unchanged to the requester', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    await galahad.claim();
    const payload = { error: 'skill_missing', message: 'I cannot brew.', retryable: false, missing: ['alchemy'] };
    const sent = { ...about('task.failed', 'galahad', id, payload), to: 'tim', version: '1.3', seal: 'black wax' };
    assert.equal((await galahad.send(sent)).status, 202);
    assert.deepEqual(await nextIn(tim), { ...sent, priority: 'normal', ttl: 3600 });
  });

  for (const [what, payload] of [
    ['a text', { status: 'completed', result: 'All quiet.' }],
    ['a text without a status', { result: 'All quiet.' }],
  ] as const) {
    it(`delivers ${what} as the content of a result`, async (t) => {
      const { agent } = await testParley(t);
      const [tim, galahad] = [await agent('tim'), await agent('galahad')];
      const id = await tim.request();
      assert.equal((await galahad.send(about('task.result', 'galahad', id, payload))).status, 202);
      assert.deepEqual((await nextIn(tim)).payload, { status: 'completed', result: { content: 'All quiet.' } });
      assert.deepEqual((await tim.task(id)).result, { content: 'All quiet.' });
    });
  }

  it('keeps the partial result of a failed task.result', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    const payload = { status: 'failed', error: 'invalid_params', result: { partial: 'half a briefing' } };
    assert.equal((await galahad.send(about('task.result', 'galahad', id, payload))).status, 202);
    const outcome = await nextIn(tim);
    assert.equal(outcome.type, 'task.failed');
    assert.equal(outcome.payload.error, 'invalid_params');
    assert.deepEqual(outcome.payload.result, payload.result);
  });

  it('delivers a large result whole', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    const result = { content: 'x'.repeat(100_000) };
    await galahad.complete(id, result);
    assert.deepEqual((await nextIn(tim)).payload.result, result);
    assert.deepEqual((await tim.task(id)).result, result);
  });

  it('sends an outcome as Parley if no agent sent it', async (t) => {
    const { agent, admin } = await testParley(t);
    const tim = await agent('tim');
    const id = await tim.request();
    assert.equal((await admin.call('POST', `/v1/tasks/${id}/cancel`)).status, 200);
    const { id: messageId, ...outcome } = await nextIn(tim);
    assert.match(messageId, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.deepEqual(outcome, {
      version: '1.0',
      type: 'task.failed',
      from: 'parley',
      to: 'tim',
      timestamp: '2026-03-01T12:00:00.000Z',
      correlationId: id,
      priority: 'normal',
      ttl: 3600,
      payload: {
        error: 'cancelled',
        message: `The task ${id} was cancelled.`,
        retryable: false,
      },
    });
  });
});

describe('task encoded for Round Table', () => {
  it('shows a task as the last message about it', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const request = taskRequest('tim');
    await tim.send(request);
    const said = async () => (await tim.call('GET', `/v1/tasks/${request.id}?dialect=round-table`)).body;
    assert.deepEqual(await said(), { ...request, priority: 'normal', ttl: 3600 });
    const note = { estimatedDurationSeconds: 120, message: 'Acknowledged.' };
    await galahad.claimed(request.id, note);
    const claimed = await said();
    assert.equal(claimed.type, 'task.claimed');
    assert.equal(claimed.from, 'galahad');
    assert.equal(claimed.correlationId, request.id);
    assert.deepEqual(claimed.payload, note);
    const progress = { percent: 60, message: 'Analyzed 3/5', subTasks: [{ id: 'sub-001', status: 'completed' }] };
    await galahad.progress(request.id, progress);
    const progressed = await said();
    assert.equal(progressed.type, 'task.progress');
    assert.deepEqual(progressed.payload, progress);
    const more = { ...about('task.progress', 'galahad', request.id, { percent: 70, mood: 'calm' }), version: '1.4' };
    const sent = { ...more, timestamp: '2026-02-08T15:02:00.5-05:00', seal: 'red wax' };
    assert.equal((await galahad.send(sent)).status, 202);
    assert.deepEqual(await said(), { ...sent, to: 'tim', id: (await said()).id });
    await galahad.complete(request.id, { content: 'all is well' });
    const ended = await said();
    assert.equal(ended.type, 'task.result');
    assert.deepEqual(ended.payload, { status: 'completed', result: { content: 'all is well' } });
  });
});
