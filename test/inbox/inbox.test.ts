import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { type ParleyErrorCode, STATUS_BY_CODE } from '../../shared/kernel/errors.ts';
import { refusedWithoutTrace, settled } from '../http/refusal.ts';
import { about, type TestAgent } from '../support/api.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';

/** Results for the requester, each a millisecond after the other. */
const withResults = async (parley: TestParley, count: number) => {
  const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
  const tasks: string[] = [];
  for (let done = 0; done < count; done++) {
    const id = await tim.request();
    await galahad.complete(id);
    tasks.push(id);
    parley.clock.advance(1);
  }
  await settled(parley);
  return { tim, galahad, tasks };
};

const tasksIn = async (agent: TestAgent): Promise<string[]> =>
  (await agent.inbox()).map(({ correlationId }) => correlationId);

const ack = async (agent: TestAgent, ...ids: string[]): Promise<number> => {
  const { status, body } = await agent.call('POST', '/v1/inbox/ack', { ids });
  assert.equal(status, 200);
  return body.acknowledged;
};

describe('the inbox', () => {
  it('gives the oldest first, and keeps what is read until it is acknowledged', async (t) => {
    const parley = await testParley(t);
    const { tim, tasks } = await withResults(parley, 5);
    assert.deepEqual(await tasksIn(tim), tasks);
    assert.deepEqual(await tasksIn(tim), tasks);
    const { messages } = (await tim.call('GET', '/v1/inbox?max=2')).body;
    assert.deepEqual(
      messages.map(({ correlationId }: { correlationId: string }) => correlationId),
      tasks.slice(0, 2),
    );
  });

  it('fetches large results side by side, a few at a time, and gives them in their order', async (t) => {
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
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const tasks: string[] = [];
    for (let done = 0; done < 15; done++) {
      tasks.push(await tim.request());
      await galahad.complete(tasks.at(-1) ?? '', { content: 'x'.repeat(5000) });
      parley.clock.advance(1);
    }
    assert.deepEqual(await tasksIn(tim), tasks);
    assert.ok(most > 1 && most <= 10, `${most} at once`);
  });

  it('gives what is acknowledged never again', async (t) => {
    const parley = await testParley(t);
    const { tim, tasks } = await withResults(parley, 3);
    const [first, second] = await tim.inbox();
    assert.equal(await ack(tim, first.id), 1);
    assert.deepEqual(await tasksIn(tim), tasks.slice(1));
    assert.equal(await ack(tim, first.id), 0);
    assert.equal(await ack(tim, first.id, second.id, randomUUID(), 'no id at all'), 1);
    assert.deepEqual(await tasksIn(tim), tasks.slice(2));
    const { messages } = (await tim.call('GET', '/v1/inbox?max=1')).body;
    assert.equal(messages[0].correlationId, tasks[2]);
    await parley.restart();
    assert.deepEqual(await tasksIn(tim), tasks.slice(2));
  });

  it('counts an id that is named twice once', async (t) => {
    const parley = await testParley(t);
    const { tim } = await withResults(parley, 1);
    const [{ id }] = await tim.inbox();
    assert.equal(await ack(tim, id, id), 1);
  });

  it('counts what two acknowledge at once for one of them', async (t) => {
    const parley = await testParley(t);
    const { tim, galahad } = await withResults(parley, 1);
    await galahad.fail(await tim.request(), { error: 'invalid_params' });
    await settled(parley);
    for (const { id } of await tim.inbox()) {
      assert.deepEqual((await Promise.all([ack(tim, id), ack(tim, id)])).toSorted(), [0, 1]);
    }
  });

  it('survives a restart', async (t) => {
    const parley = await testParley(t);
    const { tim, tasks } = await withResults(parley, 3);
    const before = await tim.inbox();
    await parley.restart();
    assert.deepEqual(await tim.inbox(), before);
    assert.deepEqual(await tasksIn(tim), tasks);
  });

  it('is filled although Parley stopped right after the result', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const id = await tim.request();
    await galahad.complete(id);
    await parley.restart();
    assert.equal((await tim.inbox(20))[0].correlationId, id);
  });

  it('answers a reader that waits as soon as a result is there', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    const waiting = tim.inbox(20);
    await galahad.complete(id);
    assert.deepEqual(
      (await waiting).map(({ correlationId }) => correlationId),
      [id],
    );
  });

  it('answers a reader that waits in vain when its time is over', async (t) => {
    const { agent, clock } = await testParley(t);
    const tim = await agent('tim');
    let isOver = false;
    const waiting = tim.inbox(20).finally(() => {
      isOver = true;
    });
    // Another call goes all the way to the disk and back, while the reader waits.
    await tim.request();
    clock.advance(19_999);
    await tim.request();
    assert.equal(isOver, false);
    clock.advance(1);
    assert.deepEqual(await waiting, []);
  });

  it('lets go of a reader that has hung up', async (t) => {
    const { agent, parley } = await testParley(t);
    const { key } = await agent('tim');
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

  it('shows an agent only its own, and takes its acknowledgements for its own only', async (t) => {
    const parley = await testParley(t);
    const { tim, galahad, tasks } = await withResults(parley, 1);
    const [message] = await tim.inbox();
    assert.deepEqual(await galahad.inbox(), []);
    assert.equal(await ack(galahad, message.id), 0);
    await refusedWithoutTrace(parley, 403, 'from_mismatch', () => galahad.call('GET', '/v1/inbox?agent=tim'));
    await refusedWithoutTrace(parley, 403, 'from_mismatch', () =>
      galahad.call('POST', '/v1/inbox/ack', { ids: [message.id], agent: 'tim' }),
    );
    assert.deepEqual(await tasksIn(tim), tasks);
    const { body } = await parley.admin.call('POST', '/v1/inbox/ack', { ids: [message.id], agent: 'tim' });
    assert.equal(body.acknowledged, 1);
  });

  it('holds both of two results that came under one id', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const [first, second] = [await tim.request(), await tim.request()];
    const result = about('task.result', 'galahad', first, { status: 'completed', result: {} });
    assert.equal((await galahad.send(result)).status, 202);
    parley.clock.advance(1);
    assert.equal((await galahad.send({ ...result, correlationId: second })).status, 202);
    await settled(parley);
    assert.deepEqual(await tasksIn(tim), [first, second]);
    assert.equal(await ack(tim, result.id), 1);
    assert.deepEqual(await tasksIn(tim), [second]);
    assert.equal(await ack(tim, result.id), 1);
    assert.deepEqual(await tasksIn(tim), []);
  });

  it('holds a result and a failure that came under one id', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const [first, second] = [await tim.request(), await tim.request()];
    const result = about('task.result', 'galahad', first, { status: 'completed', result: {} });
    assert.equal((await galahad.send(result)).status, 202);
    const failure = about('task.failed', 'galahad', second, { error: 'invalid_params' });
    assert.equal((await galahad.send({ ...failure, id: result.id })).status, 202);
    await settled(parley);
    assert.deepEqual((await tasksIn(tim)).toSorted(), [first, second].toSorted());
    assert.equal(await ack(tim, result.id, result.id), 2);
    assert.deepEqual(await tasksIn(tim), []);
  });

  it('holds both of two failures that came under one id, each under an id of its own', async (t) => {
    const parley = await testParley(t);
    const [tim, galahad] = [await parley.agent('tim'), await parley.agent('galahad')];
    const [first, second] = [await tim.request(), await tim.request()];
    const failure = about('task.failed', 'galahad', first, { error: 'invalid_params' });
    assert.equal((await galahad.send(failure)).status, 202);
    parley.clock.advance(1);
    assert.equal((await galahad.send({ ...failure, correlationId: second })).status, 202);
    await settled(parley);
    assert.deepEqual(await tasksIn(tim), [first, second]);
    const ids = (await tim.inbox()).map(({ id }) => id);
    assert.equal(new Set(ids).size, 2);
    assert.equal(await ack(tim, ...ids), 2);
    assert.deepEqual(await tasksIn(tim), []);
  });

  it('finds what is acknowledged far behind what is not', async (t) => {
    const parley = await testParley(t);
    const { tim, galahad } = await withResults(parley, 0);
    const ids = await Promise.all(Array.from({ length: 130 }, () => tim.request()));
    const results = ids.map((id) => about('task.result', 'galahad', id, { status: 'completed', result: {} }));
    for (const result of results) {
      assert.equal((await galahad.send(result)).status, 202);
      parley.clock.advance(1);
    }
    const [middle, last] = [results[70]?.id ?? '', results[129]?.id ?? ''];
    assert.equal(await ack(tim, last, randomUUID(), middle), 2);
    assert.equal(await ack(tim, last, middle), 0);
    const { messages } = (await tim.call('GET', '/v1/inbox?max=100')).body;
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
    ['too many', { ids: Array(101).fill('a') }, 'invalid_request', 'ids'],
    ['ids that are numbers', { ids: [1] }, 'invalid_request', 'ids[0]'],
    ['an empty id', { ids: [''] }, 'invalid_request', 'ids[0]'],
    ['a text', { ids: 'a' }, 'invalid_request', 'ids'],
    ['an unknown field', { ids: ['a'], all: true }, 'invalid_request', 'all'],
  ];
  it('refuses an acknowledgement that is not right', async (t) => {
    const parley = await testParley(t);
    const { tim } = await withResults(parley, 1);
    for (const [what, body, code, path] of refused) {
      await t.test(what, async () => {
        const act = () => tim.call('POST', '/v1/inbox/ack', body);
        const reply = await refusedWithoutTrace(parley, STATUS_BY_CODE[code], code, act);
        assert.equal(reply.body.issues[0].path, path);
      });
    }
  });
});
