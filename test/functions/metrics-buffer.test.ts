import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { flushMetrics, recordMetric } from '../../functions/runtime/metrics-buffer.ts';

const PROJECT = { project: 'default' };

/** The lines of CloudWatch's own form. */
const captureLines = (t: TestContext): { readonly lines: Record<string, unknown>[] } => {
  const written: string[] = [];
  t.mock.method(process.stdout, 'write', (text: string) => written.push(text) > 0);
  return {
    get lines() {
      return written
        .join('')
        .split('\n')
        .filter((line) => line.includes('"_aws"'))
        .map((line) => JSON.parse(line));
    },
  };
};

describe('what a function measures', () => {
  it('of every call is one line for 100 calls, or for a minute', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: 1e12 });
    const captured = captureLines(t);
    const call = async (ms: number): Promise<void> => {
      recordMetric('request_latency_ms', ms, PROJECT);
      await flushMetrics();
    };
    for (let ms = 1; ms < 100; ms++) await call(ms);
    assert.equal(captured.lines.length, 0);
    await call(100);
    const values = captured.lines.flatMap((line) => line.request_latency_ms);
    assert.deepEqual(
      values,
      Array.from({ length: 100 }, (_, index) => index + 1),
    );
    await call(7);
    t.mock.timers.tick(60_000);
    await flushMetrics();
    assert.deepEqual(captured.lines.at(-1)?.request_latency_ms, 7);
  });

  it('but seldom happens is told with the call, and once for its code', async (t) => {
    const captured = captureLines(t);
    recordMetric('request_latency_ms', 1.23456, PROJECT);
    recordMetric('refusal_count', 1, { ...PROJECT, code: 'forbidden' });
    await flushMetrics();
    const [byCode, all] = captured.lines;
    assert.deepEqual([byCode?.code, byCode?.refusal_count], ['forbidden', 1]);
    assert.deepEqual([all?.code, all?.refusal_count, all?.request_latency_ms], [undefined, 1, 1.235]);
    await flushMetrics();
    assert.equal(captured.lines.length, 2);
  });
});
