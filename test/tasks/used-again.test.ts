import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { taskRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

const WEEK_MS = 7 * 86_400_000;

describe('the id of a task that is no longer kept', () => {
  it('can be used again: the new task is offered, has its own content and no history of the old one', async (t) => {
    const { agent, clock } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const request = taskRequest('tim', { payload: { params: { text: 'x'.repeat(20_000) } } });
    await tim.send(request);
    await galahad.claim();
    await galahad.progress(request.id, { percent: 7 });
    await galahad.complete(request.id);
    await eventually(async () => assert.equal((await tim.inbox()).length, 1));

    clock.advance(WEEK_MS);
    assert.equal((await tim.send(request)).status, 202);
    const [claimed] = await galahad.claim();
    assert.equal(claimed?.message.payload.params.text.length, 20_000);
    await galahad.progress(request.id, { percent: 8 });
    await eventually(async () => {
      const { history, payload } = await tim.task(request.id);
      assert.equal(payload.text.length, 20_000);
      const events = history.map(({ event, percent }: { event: string; percent?: number }) => [event, percent]);
      assert.deepEqual(events, [
        ['requested', undefined],
        ['claimed', undefined],
        ['progress', 8],
      ]);
    });
  });
});

describe('a claim', () => {
  it('finds a live task behind hundreds that are no longer to be had', async (t) => {
    const { agent, clock } = await testParley(t);
    const [tim, galahad] = [await agent('tim'), await agent('galahad')];
    const batch = () => ({ messages: Array.from({ length: 25 }, () => taskRequest('tim', { ttl: 1 })) });
    for (let n = 0; n < 12; n++) await tim.call('POST', '/v1/messages', batch());
    clock.advance(1000);
    const id = await tim.request();
    assert.equal((await galahad.claim())[0]?.message.id, id);
  });
});
