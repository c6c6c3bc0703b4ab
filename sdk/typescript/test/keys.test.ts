import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { connect, ParleyError } from '../src/index.ts';
import { address, admin, agent } from './agents.ts';

const isRejected = (error: unknown): boolean =>
  error instanceof ParleyError && error.status === 401 && error.code === 'unauthorized' && !error.retryable;

describe('a key that is wrong', () => {
  it('ends every call of a requester with a typed error, at once', async () => {
    const parley = connect({ url: address, key: 'prl_default.nobody.wrong' });
    const said: string[] = [];
    parley.when('rejected', ({ error }) => said.push(error.code));
    await assert.rejects(parley.request('security.briefing').accepted, isRejected);
    await assert.rejects(parley.request('security.briefing').result(), isRejected);
    await assert.rejects(async () => {
      for await (const _ of parley.inbox()) break;
    }, isRejected);
    await assert.rejects(async () => {
      for await (const _ of parley.events()) break;
    }, isRejected);
    assert.deepEqual(new Set(said), new Set(['unauthorized']));
  });

  it('ends a worker with that error', async () => {
    const worker = connect({ url: address, key: 'prl_default.nobody.wrong' }).worker();
    await assert.rejects(worker.on('*', () => 1).run({ signals: false }), isRejected);
  });
});

describe('a key that ends', () => {
  for (const [how, end] of Object.entries({
    rotated: (id: string) => admin.call('POST', `/v1/agents/${id}/key`),
    'removed with its agent': (id: string) => admin.call('DELETE', `/v1/agents/${id}`),
  })) {
    it(`ends a running worker when it is ${how}, and aborts its handlers`, async () => {
      const capability = `ended-${crypto.randomUUID()}`;
      const { id, key } = await agent('ended', { dialect: 'native', capabilities: [capability] });
      const requester = connect({ url: address, key: (await agent('asks', { dialect: 'native' })).key });
      const worker = connect({ url: address, key }).worker({ concurrency: 2 });
      const aborted = Promise.withResolvers<string>();
      worker.on(capability, async (_, { signal }) => {
        signal.addEventListener('abort', () => aborted.resolve(signal.reason.reason));
        await new Promise(() => {});
      });
      const running = worker.run({ signals: false });
      const handle = requester.request(capability);
      await eventually(async () => assert.equal((await handle.status()).state, 'claimed'));
      await end(id);
      await assert.rejects(running, isRejected);
      assert.equal(await aborted.promise, 'lost');
    });
  }
});
