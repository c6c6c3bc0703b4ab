import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { sleep, systemClock, toIso } from '../../shared/ports/clock.ts';

const HOUR_MS = 3_600_000;

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

describe('the clock of the system', () => {
  it('rings what is due although it was set forward meanwhile, or the machine was suspended', async (t) => {
    const rung = Promise.withResolvers<void>();
    t.after(systemClock.setAlarm(Date.now() + HOUR_MS, rung.resolve));
    const { now } = Date;
    t.mock.method(Date, 'now', () => now() + HOUR_MS);
    await rung.promise;
  });

  it('ends a wait in its time although it was set back meanwhile', async (t) => {
    const wait = sleep(systemClock, 2500);
    const { now } = Date;
    t.mock.method(Date, 'now', () => now() - HOUR_MS);
    await wait.done;
  });

  it('has one timer for all that wait for long', () => {
    const before = timers();
    const cancels = Array.from({ length: 1000 }, (_, n) => systemClock.setAlarm(Date.now() + HOUR_MS + n, () => {}));
    assert.equal(timers(), before + 1);
    for (const cancel of cancels) cancel();
    assert.equal(timers(), before);
  });
});

describe('a time as text', () => {
  it('is what a Date makes of it, for every millisecond that a Date knows', () => {
    const near = fc.integer({ min: 1_790_000_000_000, max: 1_790_000_200_000 });
    const any = fc.integer({ min: -8.64e15, max: 8.64e15 });
    fc.assert(
      fc.property(fc.array(fc.oneof(near, any), { maxLength: 200 }), (times) => {
        for (const at of times) assert.equal(toIso(at), new Date(at).toISOString());
      }),
    );
    assert.throws(() => toIso(Number.NaN), RangeError);
  });
});
