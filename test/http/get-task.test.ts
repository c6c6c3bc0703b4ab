import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

describe('GET /v1/tasks/{id}', () => {
  it('answers a waiting call as soon as the task ends', async (t) => {
    const { agent } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const id = await requester.request();
    const waiting = requester.task(id, 25);
    await worker.progress(id);
    await worker.complete(id);
    assert.equal((await waiting).state, 'completed');
  });

  it('returns the current state of a task when the wait is over', async (t) => {
    const { agent, clock } = await testParley(t);
    const requester = await agent('requester');
    const id = await requester.request();
    const waiting = requester.task(id, 25);
    await requester.request();
    clock.advance(25_000);
    assert.equal((await waiting).state, 'requested');
  });

  it('returns the timeline of a task', async (t) => {
    const { agent, clock } = await testParley(t);
    const [requester, worker] = [await agent('requester'), await agent('worker')];
    const id = await requester.request();
    const act = async (done: Promise<unknown>) => {
      await done;
      clock.advance(1000);
    };
    clock.advance(1000);
    await act(worker.claim());
    await act(worker.progress(id, { percent: 60, message: 'Analyzed 3/5' }));
    await act(worker.complete(id));
    await eventually(async () => {
      const { history } = await requester.task(id);
      assert.deepEqual(history, [
        { at: '2026-03-01T12:00:00.000Z', event: 'requested', agent: 'requester' },
        { at: '2026-03-01T12:00:01.000Z', event: 'claimed', attempt: 1, agent: 'worker' },
        {
          at: '2026-03-01T12:00:02.000Z',
          event: 'progress',
          attempt: 1,
          agent: 'worker',
          percent: 60,
          message: 'Analyzed 3/5',
        },
        { at: '2026-03-01T12:00:03.000Z', event: 'completed', attempt: 1, agent: 'worker' },
      ]);
    });
  });
});
