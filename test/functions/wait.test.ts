import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LambdaLongPoll } from '../../functions/runtime/long-poll.ts';
import { acquireSlot } from '../../functions/runtime/long-poll-semaphore.ts';
import { AwsConfig } from '../../shared/config/aws-config.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

describe('waiting in a function', () => {
  it('is for as many calls of a project as there are seats, until one of them leaves or its time is over', async (t) => {
    const { parley, clock } = await testParley(t);
    const seat = (project = 'default') =>
      acquireSlot(parley.deps, { project, owner: 'tim', slots: 1, ownSlots: 1 }, 20_000);
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

  it('is for one key in some of the seats only, so that it leaves some for others', async (t) => {
    const { parley } = await testParley(t);
    const seat = (owner: string) =>
      acquireSlot(parley.deps, { project: 'default', owner, slots: 40, ownSlots: 10 }, 20_000);
    const taken = async (owner: string): Promise<number> => {
      let seats = 0;
      for (let n = 0; n < 100; n++) seats += (await seat(owner)) ? 1 : 0;
      return seats;
    };
    assert.equal(await taken('eve'), 10);
    assert.equal(await taken('eve'), 0);
    const others = ['tim', 'kay', 'lance', 'gawain', 'bors'].map((owner) => seat(owner));
    assert.ok((await Promise.all(others)).some((found) => found));
  });

  it('ends at once where there is no seat, and says when to come again', async (t) => {
    const { parley } = await testParley(t);
    const { config } = parley.deps;
    const aws = AwsConfig.parse({ stage: 'test', longPollSlots: 1 });
    const deps = { ...parley.deps, config: { ...config, aws } };
    const [seated, refused] = [new LambdaLongPoll(deps, 20_000), new LambdaLongPoll(deps, 20_000)];
    const signal = seated.startWait('default', 'tim');
    await eventually(async () => assert.ok(await parley.deps.records.get({ pk: 'default#long-poll#0', sk: 'slot' })));
    const none = refused.startWait('default', 'tim');
    await eventually(() => assert.ok(none.aborted));
    assert.deepEqual(
      [signal.aborted, seated.buildHeaders(), refused.buildHeaders()],
      [false, {}, { 'retry-after': '1' }],
    );
    await seated.end();
    const next = new LambdaLongPoll(deps, 20_000);
    next.startWait('default', 'tim');
    await next.end();
    assert.deepEqual(next.buildHeaders(), {});
  });

  it('costs nothing where nobody waits', async (t) => {
    const { parley } = await testParley(t);
    await new LambdaLongPoll(parley.deps, 20_000).end();
    assert.equal(await parley.deps.records.get({ pk: 'default#long-poll#0', sk: 'slot' }), undefined);
  });
});
