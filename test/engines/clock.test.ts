import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sleep, systemClock } from '../../shared/ports/clock.ts';

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
