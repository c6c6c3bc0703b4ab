import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { connectPair, run } from './agents.ts';
import { createFaultyFetch } from './faulty-fetch.ts';

const HOUR_MS = 3_600_000;
const PATIENCE_MS = 30_000;

describe('the lease of a worker of the SDK', () => {
  it('is renewed for as long as its handler runs without a word', async () => {
    const { fetch, effects } = createFaultyFetch();
    const { capability, requester, worker } = await connectPair({ lease: '1s' }, { fetch });
    worker.on(capability, async (task) => {
      const isRenewal = (effect: string): boolean => effect.endsWith('/renew 200');
      await eventually(() => assert.ok(effects.filter(isRenewal).length >= 6), PATIENCE_MS);
      return task.attempt;
    });
    run(worker);
    assert.equal(await requester.request(capability).result(), 1);
  });

  it('ends what its handler does once it is lost, though the server cannot be reached to say so', async () => {
    const { fetch, disconnect, reconnect, effects } = createFaultyFetch();
    const { capability, requester, parley, worker } = await connectPair({ lease: '1s' }, { fetch });
    const other = await connectPair();
    const said: string[] = [];
    parley.when('offline', () => said.push('offline'));
    parley.when('online', () => said.push('online'));
    const lost = Promise.withResolvers<string>();
    const isOver = Promise.withResolvers<void>();
    worker.on(capability, async (task, ctx) => {
      if (task.attempt > 1) return `attempt ${task.attempt}`;
      disconnect();
      ctx.signal.addEventListener('abort', async () => {
        lost.resolve(ctx.signal.reason.reason);
        await ctx.step('late', () => said.push('late')).catch(() => {});
        await ctx.progress(99).catch(() => {});
        isOver.resolve();
      });
      await isOver.promise;
      return 'late';
    });
    run(worker);
    const handle = requester.request(capability, {}, { retry: { initial: 0 } });
    assert.equal(await lost.promise, 'lost');
    await isOver.promise;
    const before = effects.length;
    reconnect();
    assert.equal(await handle.result(), 'attempt 2');
    assert.deepEqual(said, ['offline', 'online']);
    assert.ok(effects.length > before);
    assert.equal(effects.filter((effect) => effect.includes('/steps/')).length, 0);
    await other.worker.stop();
  });

  it('is taken from it by an administrator, and its handler learns it at once', async () => {
    const { capability, requester, worker } = await connectPair();
    const reasons: string[] = [];
    worker.on(capability, async (task, { signal }) => {
      if (task.attempt > 1 || reasons.length > 0) return 'again';
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return 'never';
    });
    worker.when('aborted', ({ reason }) => reasons.push(reason));
    run(worker);
    const handle = requester.request(capability);
    await eventually(async () => assert.equal((await handle.status()).state, 'claimed'));
    const { admin } = await import('./agents.ts');
    assert.equal((await admin.call('POST', `/v1/tasks/${handle.id}/release`)).status, 200);
    assert.equal(await handle.result(), 'again');
    assert.deepEqual(reasons, ['lost']);
  });

  it('does not depend on the clock of its machine, and a wrong one is told', async () => {
    const { capability, requester, parley, worker } = await connectPair({ lease: '1s' });
    const skews: number[] = [];
    parley.when('skewed', ({ offsetMs }) => skews.push(offsetMs));
    worker.on(capability, async (task, { signal }) => {
      await new Promise((resolve) => setTimeout(resolve, 2000));
      return [task.attempt, signal.aborted];
    });
    const now = Date.now.bind(Date);
    const clock = mock.method(Date, 'now', () => now() + HOUR_MS);
    try {
      run(worker);
      assert.deepEqual(await requester.request(capability).result(), [1, false]);
    } finally {
      clock.mock.restore();
    }
    assert.equal(skews.length, 1);
    assert.ok(Math.abs((skews[0] ?? 0) + HOUR_MS) < 60_000, `${skews}`);
  });
});
