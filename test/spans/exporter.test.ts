import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SpanExporter } from '../../shared/engines/outbound/span-exporter.ts';
import type { Span } from '../../shared/kernel/span.ts';
import { otlpReceiver } from '../support/otlp-receiver.ts';
import { TestClock } from '../support/test-clock.ts';

const buildSpan = (number: number): Span => ({
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: String(number + 1).padStart(16, '0'),
  name: 'send x',
  kind: 'producer',
  start: 1_700_000_000_000,
  end: 1_700_000_000_001,
  attributes: { 'messaging.system': 'parley', 'parley.attempt': 1, absent: undefined },
});

describe('The export of spans', () => {
  it('keeps 2,048 spans while the collector is down, drops the newest, says so once, and sends the rest later', async (t) => {
    const receiver = await otlpReceiver(t);
    const clock = new TestClock();
    const logged: Record<string, unknown>[] = [];
    const exporter = new SpanExporter({
      url: `${receiver.url}/v1/traces`,
      headers: {},
      resource: { 'service.name': 'parley' },
      log: (_level, _message, facts = {}) => logged.push(facts),
      clock,
    });
    receiver.answers.status = 503;
    exporter.add(Array.from({ length: 3000 }, (_, number) => buildSpan(number)));
    await exporter.flush();
    await exporter.flush();
    assert.equal(receiver.calls.length, 1);
    assert.deepEqual(
      logged.map(({ dropped }) => dropped),
      [3000 - 2048],
    );
    receiver.answers.status = 200;
    clock.advance(30_000);
    await exporter.flush();
    assert.equal(receiver.spans.length, 2048);
    assert.equal(new Set(receiver.spans.map(({ spanId }) => spanId)).size, 2048);
    assert.equal(receiver.spans.at(-1)?.spanId, String(2048).padStart(16, '0'));
    await exporter.stop();
  });
});
