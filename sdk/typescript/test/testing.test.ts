import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { Retry, TaskFailed } from '../src/index.ts';
import { createLambdaHandler } from '../src/lambda.ts';
import { startTestParley } from '../testing/index.ts';

const parley = await startTestParley();
after(() => parley.stop());

describe('parley-sdk/testing', () => {
  it('tests a worker that retries after half an hour, with a clock that the test moves', async () => {
    const [requester, agent] = [
      await parley.agent('editor'),
      await parley.agent('researcher', { capabilities: ['library.research'] }),
    ];
    const worker = agent.worker();
    const failed = Promise.withResolvers<void>();
    worker.on('library.research', (task) => {
      if (task.attempt === 1) throw new Retry('rate_limited', { after: '30m' });
      return `attempt ${task.attempt}`;
    });
    worker.when('failed', () => failed.resolve());
    const running = worker.run({ signals: false });
    const handle = requester.request('library.research', {}, { ttl: '2h' });
    await failed.promise;
    await parley.advance('29m');
    assert.notEqual((await handle.status()).state, 'completed');
    await parley.advance('1m');
    assert.equal(await handle.result(), 'attempt 2');
    await worker.stop();
    await running;
  });

  it('lets requests expire and leases end', async () => {
    const requester = await parley.agent('asks');
    const holder = await parley.agent('holds', { capabilities: ['slow.work'] });
    const expiring = requester.request('slow.work', {}, { ttl: '10m' });
    await expiring.accepted;
    await parley.advance('11m');
    await assert.rejects(expiring.result(), (error) => error instanceof TaskFailed && error.status === 'expired');
    const held = requester.request('slow.work');
    await held.accepted;
    const claim = () => holder.call<{ tasks: { attempt: number }[] }>('POST', '/v1/claims', { body: { wait: 20 } });
    assert.equal((await claim()).tasks[0]?.attempt, 1);
    await parley.advance('10m');
    assert.equal((await claim()).tasks[0]?.attempt, 2);
  });

  it('streams events, whose reader ends when it stops to read', async () => {
    const requester = await parley.agent('follows', { capabilities: ['follow.me'] });
    const { cursor } = await requester.api.readEvents({ limit: 1 });
    await requester.request('follow.me').accepted;
    for await (const { type } of requester.events({ after: cursor })) {
      if (type === 'task.requested') break;
    }
  });
});

describe('parley-sdk/lambda', () => {
  it('works until nothing comes any more, in every invocation', async () => {
    const requester = await parley.agent('calls');
    const agent = await parley.agent('lambda', { capabilities: ['lambda.double'] });
    const handler = createLambdaHandler(() => agent.worker().on<number>('lambda.double', ({ input }) => input * 2), {
      idle: 0,
    });
    for (const inputs of [[1, 2, 3], [4]]) {
      const handles = inputs.map((input) => requester.request<number>('lambda.double', input));
      await Promise.all(handles.map(({ accepted }) => accepted));
      const summary = await handler({}, { getRemainingTimeInMillis: () => 60_000 });
      assert.deepEqual(summary, { completed: inputs.length, failed: 0, aborted: 0 });
      assert.deepEqual(
        await Promise.all(handles.map((handle) => handle.result())),
        inputs.map((input) => input * 2),
      );
    }
  });

  it('gives back what it has not finished before its time is over', async () => {
    const requester = await parley.agent('waits');
    const agent = await parley.agent('slow', { capabilities: ['lambda.slow'] });
    const handler = createLambdaHandler(() => agent.worker().on('lambda.slow', () => new Promise(() => {})));
    const handle = requester.request('lambda.slow');
    await handle.accepted;
    const summary = await handler({}, { getRemainingTimeInMillis: () => 5100 });
    assert.deepEqual(summary, { completed: 0, failed: 0, aborted: 1 });
    assert.equal((await handle.status()).state, 'requested');
  });
});
