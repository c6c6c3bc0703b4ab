import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { RelayMetrics } from '../../relay/metrics.ts';
import type { RunningRelay } from '../../relay/relay.ts';
import { serveStatus } from '../../relay/status-server.ts';

const served = async (t: { after(cleanUp: () => unknown): void }, relay?: RunningRelay) => {
  const { port, close } = await serveStatus('127.0.0.1', 0, () => relay);
  t.after(close);
  /** The first line of the answer, to a request line that no client would send. */
  const asked = async (line: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`${line}\r\nhost: relay\r\nconnection: close\r\n\r\n`);
    const [answer] = await once(socket, 'data');
    socket.destroy();
    return String(answer).split('\r\n')[0] ?? '';
  };
  return { port, asked };
};

const running = (gauges: RunningRelay['getGauges']): RunningRelay => ({
  metrics: new RelayMetrics(),
  isConnected: () => true,
  isReady: async () => true,
  getGauges: gauges,
  stop: async () => {},
});

describe('the status of a relay', () => {
  it('is not the end of it, whatever it is asked for', async (t) => {
    const { asked } = await served(t);
    for (const path of ['//', '//[', '/\\', '*', '/%']) {
      assert.match(await asked(`GET ${path} HTTP/1.1`), / (400|404) /, path);
    }
    assert.match(await asked('GET /healthz HTTP/1.1'), / 200 /);
  });

  it('is told as numbers or as JSON, and says so where they cannot be had', async (t) => {
    const { port } = await served(
      t,
      running(async () => ({ lag: { tasks: 3 }, waitingSeconds: { tasks: 1.5 }, isConnected: true })),
    );
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    assert.match(text, /^parley_relay_lag_messages\{source="tasks"\} 3$/m);
    assert.match(text, /^parley_relay_oldest_pending_seconds\{source="tasks"\} 1\.5$/m);
    // What Prometheus takes: each name is described once, before its first value, and nothing else is said.
    const described = new Set<string>();
    for (const line of text.trimEnd().split('\n')) {
      const [, name = '', type] = /^# TYPE ([a-z_]+) (counter|gauge)$/.exec(line) ?? [];
      if (type) {
        assert.ok(!described.has(name), line);
        assert.equal(name.endsWith('_total'), type === 'counter', line);
        described.add(name);
        continue;
      }
      if (/^# HELP [a-z_]+ \S/.test(line)) continue;
      const [, used = ''] = /^([a-z_]+)(?:\{[a-z]+="[\w-]+"\})? [\d.]+$/.exec(line) ?? [];
      assert.ok(described.has(used), line);
    }
    for (const [query, headers] of [
      ['?format=json', {}],
      ['', { accept: 'application/json' }],
    ] as const) {
      const json = await (await fetch(`http://127.0.0.1:${port}/metrics${query}`, { headers })).text();
      assert.match(json, /"connected":true.*"lag":\{"tasks":3\}/);
    }
    const { asked } = await served(
      t,
      running(() => Promise.reject(new Error('NATS is away'))),
    );
    assert.match(await asked('GET /metrics HTTP/1.1'), / 500 /);
    assert.match(await asked('GET /readyz HTTP/1.1'), / 200 /);
  });
});
