import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

describe('a task', () => {
  it('is answered as soon as it has ended to whoever waits for it', async (t) => {
    const { agent } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    const waiting = tim.task(id, 25);
    await galahad.progress(id);
    await galahad.complete(id);
    assert.equal((await waiting).state, 'completed');
  });

  it('is answered as it is when the wait is over', async (t) => {
    const { agent, clock } = await testParley(t);
    const tim = await agent('tim');
    const id = await tim.request();
    const waiting = tim.task(id, 25);
    await tim.request();
    clock.advance(25_000);
    assert.equal((await waiting).state, 'requested');
  });

  it('tells its whole story', async (t) => {
    const { agent, clock } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const id = await tim.request();
    const act = async (done: Promise<unknown>) => {
      await done;
      clock.advance(1000);
    };
    clock.advance(1000);
    await act(galahad.claim());
    await act(galahad.progress(id, { percent: 60, message: 'Analyzed 3/5' }));
    await act(galahad.complete(id));
    await eventually(async () => {
      const { history } = await tim.task(id);
      assert.deepEqual(history, [
        { at: '2026-03-01T12:00:00.000Z', event: 'requested', agent: 'tim' },
        { at: '2026-03-01T12:00:01.000Z', event: 'claimed', attempt: 1, agent: 'galahad' },
        {
          at: '2026-03-01T12:00:02.000Z',
          event: 'progress',
          attempt: 1,
          agent: 'galahad',
          percent: 60,
          message: 'Analyzed 3/5',
        },
        { at: '2026-03-01T12:00:03.000Z', event: 'completed', attempt: 1, agent: 'galahad' },
      ]);
    });
  });
});
