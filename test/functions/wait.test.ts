import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LambdaLongPoll } from '../../functions/runtime/long-poll.ts';
import { acquireSlot } from '../../functions/runtime/long-poll-semaphore.ts';
import { AwsConfig } from '../../shared/config/aws-config.ts';
import type { RecordMetric } from '../../shared/kernel/metrics.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

describe('long polls in Lambda', () => {
  it('gives each project a limited number of wait slots until they are released or expire', async (t) => {
    const { parley, clock } = await testParley(t);
    const seat = (project = 'default') =>
      acquireSlot(parley.deps, { project, owner: 'requester', slots: 1, ownSlots: 1 }, 20_000);
    const first = await seat();
    assert.ok(first);
    assert.equal(await seat(), undefined);
    assert.ok(await seat('other'), 'each project has its own');
    await first.leave();
    assert.ok(await seat());
    assert.equal(await seat(), undefined);
    clock.advance(20_001);
    const later = await seat();
    assert.ok(later);
    await first.leave();
    assert.equal(await seat(), undefined, 'who left long ago does not free the seat of another');
  });

  it('limits the wait slots of one key so that others get some', async (t) => {
    const { parley } = await testParley(t);
    const seat = (owner: string) =>
      acquireSlot(parley.deps, { project: 'default', owner, slots: 40, ownSlots: 10 }, 20_000);
    const taken = async (owner: string): Promise<number> => {
      let seats = 0;
      for (let n = 0; n < 100; n++) seats += (await seat(owner)) ? 1 : 0;
      return seats;
    };
    assert.equal(await taken('greedy'), 10);
    assert.equal(await taken('greedy'), 0);
    const others = ['owner-1', 'owner-2', 'owner-3', 'owner-4', 'owner-5'].map((owner) => seat(owner));
    assert.ok((await Promise.all(others)).some((found) => found));
  });

  it('counts how long calls wait, so that a minute has the sum of those that waited in it', async (t) => {
    const { parley, clock } = await testParley(t);
    const measured: [string, number, string][] = [];
    const recordMetric: RecordMetric = (name, value, { project }) => measured.push([name, value, project]);
    const [waiting, quick] = [1, 2].map(() => new LambdaLongPoll({ ...parley.deps, recordMetric }, 20_000));
    waiting?.startWait('default', 'requester');
    clock.advance(15_000);
    await waiting?.end();
    await quick?.end();
    assert.deepEqual(measured, [['open_waits', 0.25, 'default']]);
  });

  it('ends a wait at once without a free slot and returns Retry-After', async (t) => {
    const { parley } = await testParley(t);
    const { config } = parley.deps;
    const aws = AwsConfig.parse({ stage: 'test', longPollSlots: 1 });
    const deps = { ...parley.deps, config: { ...config, aws } };
    const [seated, refused] = [new LambdaLongPoll(deps, 20_000), new LambdaLongPoll(deps, 20_000)];
    const signal = seated.startWait('default', 'requester');
    await eventually(async () => assert.ok(await parley.deps.records.get({ pk: 'default#long-poll#0', sk: 'slot' })));
    const none = refused.startWait('default', 'requester');
    await eventually(() => assert.ok(none.aborted));
    assert.deepEqual(
      [signal.aborted, seated.buildHeaders(), refused.buildHeaders()],
      [false, {}, { 'retry-after': '1' }],
    );
    await seated.end();
    const next = new LambdaLongPoll(deps, 20_000);
    next.startWait('default', 'requester');
    await next.end();
    assert.deepEqual(next.buildHeaders(), {});
  });

  it('writes no slot when nobody waits', async (t) => {
    const { parley } = await testParley(t);
    await new LambdaLongPoll(parley.deps, 20_000).end();
    assert.equal(await parley.deps.records.get({ pk: 'default#long-poll#0', sk: 'slot' }), undefined);
  });
});
