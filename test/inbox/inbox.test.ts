import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { type ParleyErrorCode, STATUS_BY_CODE } from '../../shared/kernel/errors.ts';
import { refusedWithoutTrace, settled } from '../http/refusal.ts';
import { about, type TestAgent } from '../support/api.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

/** Results for the requester, one millisecond apart. */
const withResults = async (parley: TestParley, count: number) => {
  const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
  const tasks: string[] = [];
  for (let done = 0; done < count; done++) {
    const id = await requester.request();
    await worker.complete(id);
    tasks.push(id);
    parley.clock.advance(1);
  }
  await settled(parley);
  return { requester, worker, tasks };
};

const tasksIn = async (agent: TestAgent): Promise<string[]> =>
  (await agent.inbox()).map(({ correlationId }) => correlationId);

const ack = async (agent: TestAgent, ...ids: string[]): Promise<number> => {
  const { status, body } = await agent.call('POST', '/v1/inbox/ack', { ids });
  assert.equal(status, 200);
  return body.acknowledged;
};

describe('inbox', () => {
  it('returns the oldest message first, and keeps a read one until it is acknowledged', async (t) => {
    const parley = await testParley(t);
    const { requester, tasks } = await withResults(parley, 5);
    assert.deepEqual(await tasksIn(requester), tasks);
    assert.deepEqual(await tasksIn(requester), tasks);
    const { messages } = (await requester.call('GET', '/v1/inbox?max=2')).body;
    assert.deepEqual(
      messages.map(({ correlationId }: { correlationId: string }) => correlationId),
      tasks.slice(0, 2),
    );
  });

  it('loads large results concurrently, at most ten at a time, and returns them in order', async (t) => {
    let [underWay, most] = [0, 0];
    const parley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        blobs: {
          ...ports.blobs,
          get: async (key) => {
            most = Math.max(most, ++underWay);
            const content = await ports.blobs.get(key);
            underWay -= 1;
            return content;
          },
        },
      }),
    });
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const tasks: string[] = [];
    for (let done = 0; done < 15; done++) {
      tasks.push(await requester.request());
      await worker.complete(tasks.at(-1) ?? '', { content: 'x'.repeat(5000) });
      parley.clock.advance(1);
    }
    assert.deepEqual(await tasksIn(requester), tasks);
    assert.ok(most > 1 && most <= 10, `${most} at once`);
  });

  it('never returns an acknowledged message again', async (t) => {
    const parley = await testParley(t);
    const { requester, tasks } = await withResults(parley, 3);
    const [first, second] = await requester.inbox();
    assert.equal(await ack(requester, first.id), 1);
    assert.deepEqual(await tasksIn(requester), tasks.slice(1));
    assert.equal(await ack(requester, first.id), 0);
    assert.equal(await ack(requester, first.id, second.id, randomUUID(), 'no id at all'), 1);
    assert.deepEqual(await tasksIn(requester), tasks.slice(2));
    const { messages } = (await requester.call('GET', '/v1/inbox?max=1')).body;
    assert.equal(messages[0].correlationId, tasks[2]);
    await parley.restart();
    assert.deepEqual(await tasksIn(requester), tasks.slice(2));
  });

  it('counts an id once that is acknowledged twice in one call', async (t) => {
    const parley = await testParley(t);
    const { requester } = await withResults(parley, 1);
    const [{ id }] = await requester.inbox();
    assert.equal(await ack(requester, id, id), 1);
  });

  it('counts a message for one of two racing acknowledgements', async (t) => {
    const parley = await testParley(t);
    const { requester, worker } = await withResults(parley, 1);
    await worker.fail(await requester.request(), { error: 'invalid_params' });
    await settled(parley);
    for (const { id } of await requester.inbox()) {
      assert.deepEqual((await Promise.all([ack(requester, id), ack(requester, id)])).toSorted(), [0, 1]);
    }
  });

  it('keeps the messages of an inbox across a restart', async (t) => {
    const parley = await testParley(t);
    const { requester, tasks } = await withResults(parley, 3);
    const before = await requester.inbox();
    await parley.restart();
    assert.deepEqual(await requester.inbox(), before);
    assert.deepEqual(await tasksIn(requester), tasks);
  });

  it('delivers a result although Parley stopped right after it', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const id = await requester.request();
    await worker.complete(id);
    await parley.restart();
    assert.equal((await requester.inbox(20))[0].correlationId, id);
  });

  it('returns a result to a waiting reader as soon as it arrives', async (t) => {
    const { agent } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const id = await requester.request();
    const waiting = requester.inbox(20);
    await worker.complete(id);
    assert.deepEqual(
      (await waiting).map(({ correlationId }) => correlationId),
      [id],
    );
  });

  it('returns nothing to a waiting reader when the wait is over', async (t) => {
    const { agent, clock } = await testParley(t);
    const requester = await agent('requester');
    let isOver = false;
    const waiting = requester.inbox(20).finally(() => {
      isOver = true;
    });
    await requester.request();
    clock.advance(19_999);
    await requester.request();
    assert.equal(isOver, false);
    clock.advance(1);
    assert.deepEqual(await waiting, []);
  });

  it('ends the wait of a reader that closed its connection', async (t) => {
    const { agent, parley } = await testParley(t);
    const { key } = await agent('requester');
    const gone = new AbortController();
    const headers = { authorization: `Bearer ${key}` };
    const request = {
      method: 'GET',
      path: '/v1/inbox',
      query: 'wait=20',
      headers,
      readBody: createBodyReader(Buffer.of()),
    };
    const waiting = parley.handle({ ...request, signal: gone.signal });
    gone.abort();
    assert.equal((await waiting).body, '{"messages":[],"traces":[]}');
  });

  it('shows an agent only its own messages, and lets it acknowledge only those', async (t) => {
    const parley = await testParley(t);
    const { requester, worker, tasks } = await withResults(parley, 1);
    const [message] = await requester.inbox();
    assert.deepEqual(await worker.inbox(), []);
    assert.equal(await ack(worker, message.id), 0);
    await refusedWithoutTrace(parley, 403, 'from_mismatch', () => worker.call('GET', '/v1/inbox?agent=requester'));
    await refusedWithoutTrace(parley, 403, 'from_mismatch', () =>
      worker.call('POST', '/v1/inbox/ack', { ids: [message.id], agent: 'requester' }),
    );
    assert.deepEqual(await tasksIn(requester), tasks);
    const { body } = await parley.admin.call('POST', '/v1/inbox/ack', { ids: [message.id], agent: 'requester' });
    assert.equal(body.acknowledged, 1);
  });

  it('keeps two results with the same message id', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const [first, second] = [await requester.request(), await requester.request()];
    const result = about('task.result', 'worker', first, { status: 'completed', result: {} });
    assert.equal((await worker.send(result)).status, 202);
    parley.clock.advance(1);
    assert.equal((await worker.send({ ...result, correlationId: second })).status, 202);
    await settled(parley);
    assert.deepEqual(await tasksIn(requester), [first, second]);
    assert.equal(await ack(requester, result.id), 1);
    assert.deepEqual(await tasksIn(requester), [second]);
    assert.equal(await ack(requester, result.id), 1);
    assert.deepEqual(await tasksIn(requester), []);
  });

  it('keeps a result and a failure with the same message id', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const [first, second] = [await requester.request(), await requester.request()];
    const result = about('task.result', 'worker', first, { status: 'completed', result: {} });
    assert.equal((await worker.send(result)).status, 202);
    const failure = about('task.failed', 'worker', second, { error: 'invalid_params' });
    assert.equal((await worker.send({ ...failure, id: result.id })).status, 202);
    await settled(parley);
    assert.deepEqual((await tasksIn(requester)).toSorted(), [first, second].toSorted());
    assert.equal(await ack(requester, result.id, result.id), 2);
    assert.deepEqual(await tasksIn(requester), []);
  });

  it('keeps two failures with the same message id, each under its own id', async (t) => {
    const parley = await testParley(t);
    const [requester, worker] = [await parley.agent('requester'), await parley.agent('worker')];
    const [first, second] = [await requester.request(), await requester.request()];
    const failure = about('task.failed', 'worker', first, { error: 'invalid_params' });
    assert.equal((await worker.send(failure)).status, 202);
    parley.clock.advance(1);
    assert.equal((await worker.send({ ...failure, correlationId: second })).status, 202);
    await settled(parley);
    assert.deepEqual(await tasksIn(requester), [first, second]);
    const ids = (await requester.inbox()).map(({ id }) => id);
    assert.equal(new Set(ids).size, 2);
    assert.equal(await ack(requester, ...ids), 2);
    assert.deepEqual(await tasksIn(requester), []);
  });

  it('acknowledges messages far behind unacknowledged ones', async (t) => {
    const parley = await testParley(t);
    const { requester, worker } = await withResults(parley, 0);
    const ids = await Promise.all(Array.from({ length: 130 }, () => requester.request()));
    const results = ids.map((id) => about('task.result', 'worker', id, { status: 'completed', result: {} }));
    for (const result of results) {
      assert.equal((await worker.send(result)).status, 202);
      parley.clock.advance(1);
    }
    const [middle, last] = [results[70]?.id ?? '', results[129]?.id ?? ''];
    assert.equal(await ack(requester, last, randomUUID(), middle), 2);
    assert.equal(await ack(requester, last, middle), 0);
    const { messages } = (await requester.call('GET', '/v1/inbox?max=100')).body;
    assert.deepEqual(
      messages.map(({ id }: { id: string }) => id),
      results
        .filter(({ id }) => id !== middle && id !== last)
        .slice(0, 100)
        .map(({ id }) => id),
    );
  });

  const refused: [what: string, body: unknown, code: ParleyErrorCode, path: string][] = [
    ['no ids', {}, 'invalid_request', 'ids'],
    ['an empty list', { ids: [] }, 'invalid_request', 'ids'],
    ['too many ids', { ids: Array(101).fill('a') }, 'invalid_request', 'ids'],
    ['ids that are numbers', { ids: [1] }, 'invalid_request', 'ids[0]'],
    ['an empty id', { ids: [''] }, 'invalid_request', 'ids[0]'],
    ['a string instead of a list', { ids: 'a' }, 'invalid_request', 'ids'],
    ['an unknown field', { ids: ['a'], all: true }, 'invalid_request', 'all'],
  ];
  it('rejects a malformed acknowledgement without a trace', async (t) => {
    const parley = await testParley(t);
    const { requester } = await withResults(parley, 1);
    for (const [what, body, code, path] of refused) {
      await t.test(`rejects an acknowledgement with ${what}`, async () => {
        const act = () => requester.call('POST', '/v1/inbox/ack', body);
        const reply = await refusedWithoutTrace(parley, STATUS_BY_CODE[code], code, act);
        assert.equal(reply.body.issues[0].path, path);
      });
    }
  });
});
