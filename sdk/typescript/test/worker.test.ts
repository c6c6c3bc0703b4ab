import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { Fail, Retry, TaskFailed } from '../src/index.ts';
import { connectPair, run } from './agents.ts';

describe('a worker of the SDK', () => {
  it('completes tasks with what its handler returns', async () => {
    const { capability, requester, worker } = await connectPair();
    worker.on<{ a: number; b: number }, number>(capability, (task) => task.input.a + task.input.b);
    run(worker);
    const handles = Array.from({ length: 100 }, (_, a) => requester.request<number>(capability, { a, b: 1 }));
    assert.deepEqual(
      await Promise.all(handles.map((handle) => handle.result())),
      handles.map((_, a) => a + 1),
    );
  });

  it('retries an attempt that failed, and gives up where the handler says so', async () => {
    const { capability, requester, worker } = await connectPair();
    worker.on(capability, (task) => {
      if (task.input === 'never') throw new Fail('no_such_thing', 'There is none.');
      if (task.attempt === 1) throw new Retry('rate_limited', { after: 0 });
      return `attempt ${task.attempt}`;
    });
    run(worker);
    assert.equal(await requester.request(capability, 'once').result(), 'attempt 2');
    await assert.rejects(requester.request(capability, 'never').result(), (error) => {
      assert.ok(error instanceof TaskFailed);
      assert.deepEqual([error.status, error.code, error.message], ['failed', 'no_such_thing', 'There is none.']);
      return true;
    });
  });

  it('runs no more tasks of a key at once than their limit says, and says for which limit one waits', async () => {
    const { capability, requester, worker } = await connectPair();
    const gate = Promise.withResolvers<void>();
    worker.on(capability, () => gate.promise.then(() => 'done'));
    run(worker);
    const limits = [{ key: `oven-${capability}`, concurrency: 1 }];
    const handles = [requester.request(capability, {}, { limits }), requester.request(capability, {}, { limits })];
    await eventually(async () => {
      const reasons = await Promise.all(handles.map(async (one) => (await one.status()).waitsForLimit?.reason));
      assert.deepEqual(reasons.toSorted(), ['concurrency', undefined]);
    }, 30_000);
    gate.resolve();
    assert.deepEqual(await Promise.all(handles.map((handle) => handle.result())), ['done', 'done']);
  });

  it('repeats no finished step in a later attempt', async () => {
    const { capability, requester, worker } = await connectPair();
    const ran: string[] = [];
    worker.on(capability, async (task, ctx) => {
      const facts = await ctx.step('collect', () => {
        ran.push('collect');
        return { count: ran.length };
      });
      if (task.attempt === 1) throw new Retry('again', { after: 0 });
      return facts;
    });
    run(worker);
    assert.deepEqual(await requester.request(capability).result(), { count: 1 });
    assert.deepEqual(ran, ['collect']);
  });

  it('asks its requester and goes on with the answer', async () => {
    const { capability, requester, worker } = await connectPair();
    worker.on(capability, async (_task, ctx) => {
      const name = await ctx.ask<string>('Who are you?', { type: 'string' });
      const age = await ctx.ask<number>('How old?');
      return `${name} ${age}`;
    });
    run(worker);
    const asked: string[] = [];
    const result = await requester.request(capability).result({
      onQuestion: ({ prompt }) => {
        asked.push(prompt);
        return asked.length === 1 ? 'Ada' : 36;
      },
    });
    assert.deepEqual([result, asked], ['Ada 36', ['Who are you?', 'How old?']]);
  });

  it('gives subtasks to others, each once', async () => {
    const { capability, requester, worker } = await connectPair();
    const other = await connectPair();
    let calls = 0;
    other.worker.on<number, number>(other.capability, (task) => {
      calls++;
      return task.input * 2;
    });
    worker.on(capability, async (task, ctx) => {
      const doubled = await ctx.call<number>(other.capability, 21);
      if (task.attempt === 1) throw new Retry('again', { after: 0 });
      return doubled;
    });
    run(worker);
    run(other.worker);
    assert.equal(await requester.request(capability).result(), 42);
    assert.equal(calls, 1);
  });

  it('sends reports along with claims, and never with a claim that waits for work', async () => {
    const claims: { wait: number; messages?: object[] }[] = [];
    const { capability, requester, worker } = await connectPair(
      { concurrency: 10 },
      {
        fetch: (url, init) => {
          if (String(url).endsWith('/v1/claims')) claims.push(JSON.parse(String(init?.body)));
          return fetch(url, init);
        },
      },
    );
    worker.on(capability, (_task, ctx) => ctx.progress(50));
    const handles = Array.from({ length: 50 }, () => requester.request(capability));
    await Promise.all(handles.map(({ accepted }) => accepted));
    run(worker);
    await Promise.all(handles.map((handle) => handle.result()));
    const carrying = claims.filter(({ messages = [] }) => messages.length > 0);
    assert.ok(carrying.length > 0);
    assert.deepEqual(new Set(carrying.map(({ wait }) => wait)), new Set([0]));
  });

  it('aborts its handler when the task is cancelled', async () => {
    const { capability, requester, worker } = await connectPair();
    const aborted = Promise.withResolvers<unknown>();
    worker.on(capability, async (_task, { signal }) => {
      signal.addEventListener('abort', () => aborted.resolve(signal.reason));
      await new Promise(() => {});
    });
    run(worker);
    const handle = requester.request(capability);
    await eventually(async () => assert.equal((await handle.status()).state, 'claimed'));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await handle.cancel();
    assert.equal(((await aborted.promise) as { reason: string }).reason, 'cancelled');
  });

  it('gives back what it has not finished when it stops', async () => {
    const { capability, requester, parley } = await connectPair();
    const first = parley.worker({ drain: 0 });
    first.on(capability, () => new Promise(() => {}));
    run(first);
    const handle = requester.request(capability);
    await eventually(async () => assert.equal((await handle.status()).state, 'claimed'));
    await first.stop();
    const second = parley.worker();
    second.on(capability, ({ attempt }) => attempt);
    run(second);
    // The claim that was under way may have brought it back to the first worker for a moment.
    assert.ok(Number(await handle.result()) >= 2);
  });
});
