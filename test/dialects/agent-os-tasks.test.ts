import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { settled } from '../http/refusal.ts';
import { agentOsAgent, content, evidence } from '../support/agent-os-agent.ts';
import { testParley } from '../support/test-parley.ts';

const start = async (t: Parameters<typeof testParley>[0]) => {
  const parley = await testParley(t);
  return { parley, brain: await agentOsAgent(parley, 'one-brain'), scribe: await agentOsAgent(parley, 'scribe') };
};

describe('AgentOS request', () => {
  for (const type of ['query', 'command', 'validation', 'correction']) {
    it(`gives a request unchanged to its recipient as a task: ${type}`, async (t) => {
      const { brain, scribe } = await start(t);
      const sent = await brain.say(type, 'scribe', { extra: { from: 'a later version' } });
      const [task] = await scribe.claim();
      assert.deepEqual(task.message, sent);
    });
  }

  it('returns a response with its evidence to the instance that asked, and acknowledges it by its id', async (t) => {
    const { brain, scribe } = await start(t);
    const query = await brain.say('query', 'scribe', { from: { agentId: 'one-brain', instanceId: 'ob-7' } });
    await scribe.claim();
    const response = scribe.message('response', 'one-brain', {
      replyTo: query.id,
      to: { agentId: 'one-brain', instanceId: 'ob-7' },
      payload: content({ answer: 'Large.', data: { value: 17 } }),
      evidence: evidence(),
      priority: 'high',
      ttl: 30,
      context: { sessionId: 'sess-2', requestId: 'req-2', locale: 'ar-YE', timezone: 'Asia/Aden' },
    });
    assert.equal((await scribe.send({ ...response, to: { agentId: 'one-brain' } })).status, 202);
    const [answer] = await brain.inbox();
    // The response did not name ob-7, the request did.
    assert.deepEqual(answer, response);
    assert.equal(await brain.ack(answer.id), 1);
    assert.deepEqual(await brain.inbox(), []);
  });

  it('recognizes a message id in any spelling, and answers with the spelling that was sent', async (t) => {
    const { brain, scribe } = await start(t);
    const uuid = randomUUID();
    const message = brain.message('query', 'scribe', { id: `msg-${uuid.toUpperCase()}` });
    const first = await brain.send(message);
    assert.deepEqual([first.status, first.body.id, first.body.taskId], [202, message.id, uuid]);
    assert.equal((await brain.send({ ...message, id: uuid })).body.duplicate, true);
    assert.equal((await brain.call('GET', `/v1/tasks/msg-${uuid}`)).body.id, uuid);
    assert.equal((await scribe.claim()).length, 1);
    assert.equal((await scribe.respond('one-brain', uuid)).status, 202);
    const [answer] = await brain.inbox();
    assert.equal(answer.replyTo, message.id);
  });

  it('accepts any UUID of RFC 9562', async (t) => {
    const { brain } = await start(t);
    await brain.say('query', 'scribe', { id: 'msg-123e4567-e89b-12d3-a456-426614174000' });
    await brain.say('query', 'scribe', { id: '0190b1de-7a3c-7def-8abc-123456789abc' });
  });

  it('delivers Arabic text byte for byte in both directions, with its language and format', async (t) => {
    const { brain, scribe } = await start(t);
    const question = 'ما هو الناتج المحلي الإجمالي؟ ١٧٫٢٤ \u200f«مليار»\u200e e\u0301 \u{1F33E}';
    const payload = content(question, { format: 'text', language: 'ar' });
    const query = await brain.say('query', 'scribe', { payload });
    const [task] = await scribe.claim();
    assert.deepEqual(task.message.payload, payload);
    const told = content(`**${question}**`, { format: 'markdown', language: 'ar' });
    await scribe.respond('one-brain', query.id, { payload: told });
    assert.deepEqual((await brain.inbox())[0].payload, told);
  });

  it('expires a request after its TTL, and sends the requester an error TIMEOUT', async (t) => {
    const { parley, brain } = await start(t);
    const query = await brain.say('query', 'scribe', { ttl: 30 });
    parley.clock.advance(30_000);
    await settled(parley);
    const [error] = await brain.inbox();
    assert.deepEqual([error.type, error.replyTo, error.from.agentId], ['error', query.id, 'parley']);
    assert.deepEqual([error.payload.content.code, error.payload.content.recoverable], ['TIMEOUT', true]);
    assert.deepEqual([error.to, error.context], [query.from, query.context]);
  });

  it('gives requests in the order of their priorities', async (t) => {
    const { brain, scribe } = await start(t);
    const low = await brain.say('query', 'scribe', { priority: 'low' });
    const normal = await brain.say('query', 'scribe', { priority: 'normal' });
    const high = await brain.say('query', 'scribe', { priority: 'high' });
    const order = [];
    for (let times = 0; times < 3; times++) {
      const [task] = await scribe.claim();
      order.push(task.message.id);
      await scribe.respond('one-brain', task.message.id);
    }
    assert.deepEqual(order, [high.id, normal.id, low.id]);
  });
});

describe('AgentOS error', () => {
  const RECOVERABLE = ['DATA_UNAVAILABLE', 'SOURCE_ERROR', 'TIMEOUT'];
  const FINAL = ['VALIDATION_FAILED', 'FABRICATION_DETECTED', 'SAFETY_VIOLATION', 'UNAUTHORIZED'];

  for (const code of RECOVERABLE) {
    it(`retries a task after a recoverable error, and delivers the suggestion: ${code}`, async (t) => {
      const { parley, brain, scribe } = await start(t);
      const query = await brain.say('query', 'scribe', { retryCount: 2 });
      await scribe.claim();
      const reply = await scribe.err(
        'one-brain',
        { code, message: 'no page', details: { page: 7 }, recoverable: true, suggestion: 'try an earlier year' },
        { replyTo: query.id },
      );
      assert.equal(reply.status, 202);
      const task = await brain.task(query.id);
      assert.deepEqual([task.state, task.lastError.code, task.error], ['requested', code, undefined]);
      parley.clock.advance(1000);
      const [again] = await scribe.claim({ wait: 5 });
      assert.equal(again.message.retryCount, 3);
      assert.equal(again.message.parley.lastError.suggestion, 'try an earlier year');
    });
  }

  for (const code of FINAL) {
    it(`fails a task at once after an unrecoverable error, whatever its recoverable field says: ${code}`, async (t) => {
      const { parley, brain, scribe } = await start(t);
      const query = await brain.say('query', 'scribe');
      await scribe.claim();
      const said = { code, message: 'no', recoverable: true, suggestion: 'ask another', details: ['a', 1] };
      const error = scribe.message('error', 'one-brain', { replyTo: query.id, payload: content(said), ttl: 60 });
      assert.equal((await scribe.send(error)).status, 202);
      assert.equal((await brain.task(query.id)).state, 'failed');
      await settled(parley);
      const [told] = await brain.inbox();
      assert.deepEqual(told, error);
    });
  }

  it('fails a task after an error that its sender calls unrecoverable', async (t) => {
    const { brain, scribe } = await start(t);
    const query = await brain.say('query', 'scribe');
    await scribe.claim();
    await scribe.err('one-brain', { code: 'TIMEOUT', message: 'x', recoverable: false }, { replyTo: query.id });
    assert.equal((await brain.task(query.id)).state, 'failed');
  });

  it('fails the one held task of the same request once after an error without replyTo', async (t) => {
    const { parley, brain, scribe } = await start(t);
    const query = await brain.say('query', 'scribe');
    await scribe.claim();
    const error = scribe.message('error', 'one-brain', { payload: content({ code: 'UNAUTHORIZED', message: 'no' }) });
    assert.equal((await scribe.send(error)).status, 202);
    assert.equal((await brain.task(query.id)).state, 'failed');
    const again = await scribe.send(error);
    assert.deepEqual([again.status, again.body.duplicate], [200, true]);
    await settled(parley);
    assert.deepEqual(
      (await brain.inbox()).map(({ id }) => id),
      [error.id],
    );
  });

  it('delivers an error without replyTo of another request, and fails no task', async (t) => {
    const { brain, scribe } = await start(t);
    const query = await brain.say('query', 'scribe');
    await scribe.claim();
    const payload = content({ code: 'UNAUTHORIZED', message: 'no' });
    for (const context of [{ requestId: 'req-2' }, {}, undefined]) {
      assert.equal((await scribe.send(scribe.message('error', 'one-brain', { payload, context }))).status, 202);
    }
    assert.equal((await brain.inbox()).length, 3);
    assert.equal((await brain.task(query.id)).state, 'claimed');
  });

  it('delivers an error without replyTo that may be about two tasks, and fails neither', async (t) => {
    const { brain, scribe } = await start(t);
    const queries = [await brain.say('query', 'scribe'), await brain.say('query', 'scribe')];
    await scribe.claim({ max: 2 });
    const error = scribe.message('error', 'one-brain', { payload: content({ code: 'UNAUTHORIZED', message: 'no' }) });
    assert.equal((await scribe.send(error)).status, 202);
    const [told] = await brain.inbox();
    assert.deepEqual(told, error);
    for (const { id } of queries) assert.equal((await brain.task(id)).state, 'claimed');
  });
});

describe('AgentOS validation and correction', () => {
  for (const type of ['validation', 'correction']) {
    it(`takes a message with replyTo to a held task as its answer, and any other as a request: ${type}`, async (t) => {
      const { parley, brain, scribe } = await start(t);
      const query = await brain.say('query', 'scribe');
      await scribe.claim();
      const response = scribe.message('response', 'one-brain', { replyTo: query.id, evidence: evidence() });
      await scribe.send(response);
      parley.clock.advance(1);
      const request = await brain.say(type, 'scribe', { replyTo: response.id });
      const [task] = await scribe.claim();
      assert.deepEqual(task.message, request);
      const answer = await scribe.say(type, 'one-brain', { replyTo: request.id, payload: content({ valid: false }) });
      assert.equal((await brain.task(request.id)).state, 'completed');
      const [, told] = await brain.inbox();
      assert.deepEqual(told, answer);
      assert.equal((await scribe.send(answer)).body.duplicate, true);
    });
  }
});

describe('AgentOS event with replyTo', () => {
  it('takes an event with replyTo from the holder as progress, and renews the lease', async (t) => {
    const { parley, brain, scribe } = await start(t);
    const query = await brain.say('query', 'scribe');
    const [{ lease }] = await scribe.claim();
    parley.clock.advance(60_000);
    const event = await scribe.say('event', 'one-brain', {
      replyTo: query.id,
      payload: content({ percent: 40, message: 'reading', page: 7 }),
    });
    const task = await brain.task(query.id);
    assert.deepEqual([task.state, task.progress.percent, task.progress.message], ['in_progress', 40, 'reading']);
    assert.ok(task.lease.until > lease.until);
    await settled(parley);
    assert.deepEqual(await brain.inbox(), [event]);
    assert.equal(await brain.ack(event.id), 1);
    assert.deepEqual(await brain.inbox(), []);
    const shown = (await brain.call('GET', `/v1/tasks/${query.id}?dialect=agent-os`)).body;
    assert.deepEqual([shown.payload, shown.replyTo, shown.to], [event.payload, query.id, query.from]);
  });

  it('brings the progress of any holder to its requester, and no claim', async (t) => {
    const parley = await testParley(t);
    const brain = await agentOsAgent(parley, 'one-brain');
    const cook = await parley.agent('cook', { dialect: 'task-format' });
    const query = await brain.say('query', 'cook');
    const [{ message }] = await cook.claim();
    await cook.send({ id: message.id, status: 'pending' });
    await cook.send({ id: message.id, status: 'in_progress', metadata: { progress: 30, message: 'reading' } });
    await settled(parley);
    const told = await brain.inbox();
    assert.deepEqual(
      told.map(({ type, replyTo, payload }) => [type, replyTo, payload.content.percent, payload.content.message]),
      [['event', query.id, 30, 'reading']],
    );
  });

  it('brings no progress to a requester that reads ends only', async (t) => {
    const { parley, brain, scribe } = await start(t);
    await parley.admin.call('PUT', '/v1/agents/one-brain', { dialect: 'agent-os', inbox: 'ends' });
    const query = await brain.say('query', 'scribe');
    await scribe.claim();
    await scribe.say('event', 'one-brain', { replyTo: query.id, payload: content({ percent: 40 }) });
    await settled(parley);
    assert.deepEqual(await brain.inbox(), []);
  });

  it('delivers an event with replyTo from any other agent as a direct message', async (t) => {
    const { brain, scribe } = await start(t);
    const query = await brain.say('query', 'scribe');
    const event = await brain.say('event', 'scribe', { replyTo: query.id });
    assert.deepEqual(await scribe.inbox(), [event]);
    assert.equal((await brain.task(query.id)).state, 'requested');
  });
});
