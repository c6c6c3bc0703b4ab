import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import baseConfig from '../../parley.config.ts';
import { CallLimiter } from '../../shared/http/call-limiter.ts';
import { authenticate } from '../../shared/identity/auth/authenticate.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';
import { assertRefused } from './refusal.ts';

const WINDOW_MS = 10_000;
const PER_MINUTE = 600;
const PER_WINDOW = 100;

describe('a limit of calls', () => {
  it('refuses the calls of a caller beyond it until the time that Retry-After tells, and those of no other', async (t) => {
    const limits = { ...baseConfig.limits, callsPerMinute: PER_MINUTE };
    const parley = await testParley(t, { config: { limits } });
    const [worker, other] = [await parley.agent('worker'), await parley.agent('other', {})];
    parley.clock.advance(WINDOW_MS - (parley.clock.now() % WINDOW_MS));
    const call = () => worker.call('GET', '/v1/whoami');
    for (let n = 0; n < PER_WINDOW; n++) assert.equal((await call()).status, 200);
    parley.clock.advance(2500);
    const refused = await call();
    assertRefused(refused, 429, 'rate_limited');
    assert.equal(refused.headers['retry-after'], '8');
    for (const caller of [other, parley.admin]) assert.equal((await caller.call('GET', '/v1/whoami')).status, 200);
    for (let n = 0; n < PER_WINDOW; n++) assert.equal((await parley.admin.call('GET', '/v1/whoami')).status, 200);
    parley.clock.advance(7499);
    assertRefused(await call(), 429, 'rate_limited');
    parley.clock.advance(1);
    assert.equal((await call()).status, 200);
  });

  const startProcesses = async (t: Parameters<typeof testParley>[0], count: number) => {
    let writes = 0;
    const parley: TestParley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          update: (ref, ...more) => {
            if (ref.sk.startsWith('calls#')) writes += 1;
            return ports.records.update(ref, ...more);
          },
        },
      }),
    });
    const { key } = await parley.agent('worker');
    const { deps } = parley.parley;
    const caller = await authenticate(deps, `Bearer ${key}`);
    const processes = Array.from({ length: count }, () => new CallLimiter(deps, PER_MINUTE, true));
    /** Calls that come to one process after the other. */
    const countPassed = async (calls: number): Promise<number> => {
      let passed = 0;
      for (let n = 0; n < calls; n++) {
        try {
          await processes[n % count]?.countCall(caller);
          passed += 1;
        } catch (error) {
          assert.equal(Object(error).code, 'rate_limited');
        }
      }
      return passed;
    };
    return { parley, countPassed, getWrites: () => writes };
  };

  it('holds over several processes, at most twice', async (t) => {
    const { parley, countPassed } = await startProcesses(t, 5);
    const passed = await countPassed(1000);
    assert.ok(passed >= PER_WINDOW && passed <= 2 * PER_WINDOW, `${passed}`);
    parley.clock.advance(WINDOW_MS);
    assert.ok((await countPassed(1000)) >= PER_WINDOW);
  });

  it('costs a caller nothing whose calls are few in each process', async (t) => {
    const { parley, countPassed, getWrites } = await startProcesses(t, 5);
    for (let window = 0; window < 10; window++) {
      assert.equal(await countPassed(45), 45);
      parley.clock.advance(WINDOW_MS);
    }
    assert.equal(getWrites(), 0);
  });
});
