import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import baseConfig from '../../parley.config.ts';
import { createBodyReader } from '../../shared/http/read-body.ts';
import type { Reply, TestAgent } from '../support/api.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';
import { assertRefused, settled } from './refusal.ts';

const limits = { ...baseConfig.limits, streamsPerKey: 2, waitsPerKey: 2 };

const opened = async (t: TestContext, { parley }: TestParley, { key }: TestAgent) => {
  const gone = new AbortController();
  t.after(() => gone.abort());
  const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream' };
  const request = {
    method: 'GET',
    path: '/v1/events',
    query: '',
    headers,
    readBody: createBodyReader(Buffer.of()),
    signal: gone.signal,
  };
  return { ...(await parley.handle(request)), gone };
};

describe('waits per key', () => {
  it('rejects waiting calls beyond the limit of a key with 429 before any effect', async (t) => {
    const parley = await testParley(t, { config: { limits } });
    const [waiter, requester] = [await parley.agent('waiter'), await parley.agent('requester')];
    const waiting = [waiter.call('POST', '/v1/claims', { wait: 10 }), waiter.call('GET', '/v1/inbox?wait=10')];
    await settled(parley);
    const refused: Reply[] = [
      await waiter.call('POST', '/v1/claims', { wait: 10 }),
      await waiter.call('GET', '/v1/inbox?wait=1'),
    ];
    for (const reply of refused) {
      assertRefused(reply, 429, 'too_many_waits');
      assert.equal(reply.headers['retry-after'], '1');
      assert.equal(reply.body.limit, 2);
    }
    assert.deepEqual(await waiter.inbox(), [], 'what does not wait is answered');
    assert.deepEqual((await requester.call('POST', '/v1/claims', {})).body.tasks, [], 'others have their own');
    const sent = { messages: [{ id: 'nothing', type: 'task.result' }], wait: 5 };
    assertRefused(await waiter.call('POST', '/v1/claims', sent), 429, 'too_many_waits');
    await requester.request({ to: 'waiter' });
    assert.equal((await waiting[0])?.body.tasks.length, 1);
    const next = waiter.call('POST', '/v1/claims', { wait: 10 });
    await settled(parley);
    await requester.request({ to: 'waiter' });
    assert.equal((await next).status, 200, 'there is room again');
    parley.clock.advance(10_000);
    assert.equal((await waiting[1])?.status, 200);
  });

  it('rejects streams beyond the limit of a key until one of them is closed', async (t) => {
    const parley = await testParley(t, { config: { limits } });
    const [waiter, requester] = [await parley.agent('waiter'), await parley.agent('requester')];
    const [first, second] = [await opened(t, parley, waiter), await opened(t, parley, waiter)];
    assert.deepEqual([first.status, second.status], [200, 200]);
    const third = await opened(t, parley, waiter);
    assert.deepEqual([third.status, third.headers['retry-after']], [429, '5']);
    assert.equal((await opened(t, parley, requester)).status, 200);
    first.gone.abort();
    assert.equal((await opened(t, parley, waiter)).status, 200);
  });

  it('frees all waits of a key when the key is replaced', async (t) => {
    const parley = await testParley(t, { config: { limits } });
    const waiter = await parley.agent('waiter');
    const waiting = [1, 2].map(() => waiter.call('POST', '/v1/claims', { wait: 10 }));
    await settled(parley);
    const { body } = await parley.admin.call('POST', '/v1/agents/waiter/key');
    for (const reply of await Promise.all(waiting)) assertRefused(reply, 401, 'unauthorized');
    const headers = { authorization: `Bearer ${body.key}` };
    const again = parley.transport('GET', '/v1/inbox?wait=10', headers, undefined);
    await settled(parley);
    parley.clock.advance(10_000);
    assert.equal((await again).status, 200);
  });
});
