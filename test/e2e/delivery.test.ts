import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { about, callerWith, type TestAgent, taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { deployment } from './deployment.ts';

const { admin, agent, transport } = await deployment();

const pair = async (): Promise<[TestAgent, TestAgent]> => [await agent('tim'), await agent('galahad')];

/** Asks for a task that only one agent can take, and lets it take it. */
const held = async (tim: TestAgent, galahad: TestAgent, params: object = {}): Promise<string> => {
  const id = await tim.request({ to: galahad.id, payload: { params } });
  const [claimed] = await galahad.claim({ wait: 10 });
  assert.equal(claimed.message.id, id);
  return id;
};

describe('a requester', () => {
  it('finds the result in its inbox until it acknowledges it', async () => {
    const [tim, galahad] = await pair();
    const id = await held(tim, galahad);
    assert.equal((await galahad.complete(id, { format: 'markdown', content: 'all quiet' })).status, 202);
    const [message] = await tim.inbox(10);
    const { type, from, to, correlationId, payload } = message;
    assert.deepEqual(
      { type, from, to, correlationId },
      { type: 'task.result', from: galahad.id, to: tim.id, correlationId: id },
    );
    assert.deepEqual(payload, { status: 'completed', result: { format: 'markdown', content: 'all quiet' } });
    assert.deepEqual(await tim.inbox(), [message]);
    const ack = await tim.call('POST', '/v1/inbox/ack', { ids: [message.id] });
    assert.deepEqual(ack.body, { acknowledged: 1 });
    assert.deepEqual(await tim.inbox(), []);
  });

  it('finds the failure in its inbox, and after a retry the result', async () => {
    const [tim, galahad] = await pair();
    const id = await held(tim, galahad);
    assert.equal((await galahad.fail(id, { error: 'skill_missing', message: 'no such skill' })).status, 202);
    const [failure] = await tim.inbox(10);
    assert.equal(failure.type, 'task.failed');
    assert.equal(failure.payload.error, 'skill_missing');
    assert.equal((await tim.task(id)).deadLettered, true);

    assert.equal((await tim.call('POST', `/v1/tasks/${id}/retry`)).status, 202);
    const [again] = await galahad.claim({ wait: 10 });
    assert.deepEqual([again.message.id, again.attempt], [id, 2]);
    assert.equal((await galahad.complete(id)).status, 202);
    const messages = await eventually(async () => {
      const found = await tim.inbox();
      assert.equal(found.length, 2);
      return found;
    });
    assert.deepEqual(
      messages.map(({ type, correlationId }) => [type, correlationId]),
      [
        ['task.failed', id],
        ['task.result', id],
      ],
    );
    assert.equal((await tim.call('POST', `/v1/tasks/${id}/retry`)).body.code, 'not_retryable');
  });

  it('gets a failed attempt repeated without a word, while the error allows it', async () => {
    const [tim, galahad] = await pair();
    const id = await held(tim, galahad);
    assert.equal((await galahad.fail(id, { error: 'rate_limited', retryAfterSeconds: 0 })).status, 202);
    const [again] = await galahad.claim({ wait: 10 });
    assert.deepEqual([again.message.id, again.attempt], [id, 2]);
    await galahad.complete(id);
    const messages = await tim.inbox(10);
    assert.deepEqual(
      messages.map(({ type }) => type),
      ['task.result'],
    );
  });

  it('gets what it sent and what came back byte for byte, however large', async () => {
    const [tim, galahad] = await pair();
    const line = 'The wall holds. الجدار صامد 🏰👩🏽‍🚀 ﷽ "quoted" \\ \u2028 \u0001 \t\n';
    const text = line.repeat(Math.ceil(300_000 / Buffer.byteLength(line)));
    const params = { text, list: [0, -1.5, 1e21, null, true, { '': [] }] };
    const id = await tim.request({ to: galahad.id, payload: { params } });
    const [claimed] = await galahad.claim({ wait: 10 });
    assert.equal(JSON.stringify(claimed.message.payload.params), JSON.stringify(params));
    const result = { format: 'markdown', content: [...text].toReversed().join('') };
    assert.equal((await galahad.complete(id, result)).status, 202);
    const [message] = await tim.inbox(10);
    assert.equal(JSON.stringify(message.payload.result), JSON.stringify(result));
    assert.equal(JSON.stringify((await tim.task(id)).result), JSON.stringify(result));
  });
});

describe('a holder', () => {
  it('learns in its inbox and on its next report that its task was cancelled', async () => {
    const [tim, galahad] = await pair();
    const id = await held(tim, galahad);
    assert.equal((await tim.call('POST', `/v1/tasks/${id}/cancel`)).body.state, 'cancelled');
    for (const reply of [await galahad.progress(id), await galahad.complete(id), await galahad.fail(id)]) {
      assert.deepEqual([reply.status, reply.body.code], [409, 'cancelled']);
    }
    const [message] = await galahad.inbox(10);
    assert.deepEqual([message.correlationId, message.payload.error], [id, 'cancelled']);
    assert.equal((await tim.task(id)).state, 'cancelled');
  });

  it('keeps its tasks and its inbox when its key is rotated, and the old key stops working', async () => {
    const [tim, galahad] = await pair();
    const id = await held(tim, galahad);
    const asked = await galahad.request({ to: tim.id });
    await tim.claim({ wait: 10 });
    await tim.complete(asked);
    const { body } = await admin.call('POST', `/v1/agents/${galahad.id}/key`);
    const renewed = callerWith(transport, body.key);
    await eventually(async () => assert.equal((await galahad.call('GET', '/v1/inbox')).status, 401));
    const inbox = await renewed.call('GET', '/v1/inbox?wait=10');
    assert.equal(inbox.body.messages[0].correlationId, asked);
    const message = about('task.result', galahad.id, id, { status: 'completed', result: { content: 'done' } });
    assert.equal((await renewed.call('POST', '/v1/messages', message)).status, 202);
    assert.equal((await tim.task(id, 10)).state, 'completed');
  });
});

describe('a batch', () => {
  it('is answered message by message, in order, whatever became of each', async () => {
    const [tim, galahad] = await pair();
    const [good, twice] = [taskRequest(tim.id, { to: galahad.id }), taskRequest(tim.id, { to: galahad.id })];
    const nobody = taskRequest(tim.id, { to: 'nobody-of-this-name' });
    const messages = [good, twice, { ...good, type: 'task.unheard' }, nobody, taskRequest(galahad.id), 7, twice];
    const { status, body } = await tim.send({ messages });
    assert.equal(status, 200);
    assert.deepEqual(
      body.results.map((result: { status: number; body: { code?: string; duplicate?: boolean } }) => [
        result.status,
        result.body.code ?? result.body.duplicate,
      ]),
      [
        [202, false],
        [202, false],
        [400, 'unknown_type'],
        [422, 'unknown_agent'],
        [403, 'from_mismatch'],
        [400, 'invalid_message'],
        [200, true],
      ],
    );
  });

  it('carries out what it says about one task in its order', async () => {
    const [tim, galahad] = await pair();
    const ids = await Promise.all(Array.from({ length: 8 }, () => tim.request({ to: galahad.id })));
    const messages = ids.flatMap((id) => [
      about('task.claimed', galahad.id, id, {}),
      about('task.progress', galahad.id, id, { percent: 50 }),
      about('task.result', galahad.id, id, { status: 'completed', result: { content: id } }),
    ]);
    const { body } = await galahad.send({ messages });
    assert.deepEqual([...new Set(body.results.map((result: { status: number }) => result.status))], [202]);
    for (const id of ids) {
      const task = await tim.task(id);
      assert.deepEqual([task.state, task.result.content, task.attempt], ['completed', id, 1]);
    }
  });

  it('of more than 25 messages is refused as a whole', async () => {
    const [tim, galahad] = await pair();
    const messages = Array.from({ length: 26 }, () => taskRequest(tim.id, { to: galahad.id }));
    const { status, body } = await tim.send({ messages });
    assert.deepEqual([status, body.code], [413, 'too_large']);
    assert.equal((await tim.call('GET', `/v1/tasks/${messages[0]?.id}`)).status, 404);
  });
});
