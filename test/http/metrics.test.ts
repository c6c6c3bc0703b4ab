import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ensureKey } from '../../local/ensure-key.ts';
import config from '../../parley.config.ts';
import { generateKey } from '../../shared/identity/auth/keys.ts';
import { type Caller, callerWith } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { messageRouting, mrMessage, type Wire } from '../support/message-routing.ts';
import { type TestOptions, type TestParley, testParley } from '../support/test-parley.ts';

/** What a scraper reads: each sample by its name and labels. */
const scrape = async (caller: Caller): Promise<Map<string, number>> => {
  const { status, headers, body } = await caller.call('GET', '/metrics');
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  const lines = String(body)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const [, sample = '', value = ''] = /^([a-z_]+\{[^}]*\}) (\S+)$/.exec(line) ?? assert.fail(line);
      return [sample, Number(value)];
    }),
  );
};

const start = async (t: Parameters<typeof testParley>[0], options?: TestOptions) => {
  const parley = await testParley(t, options);
  const sender = await parley.agent('sender', messageRouting);
  const reader = await parley.agent('reader', { ...messageRouting, inboxLimit: 10 });
  const send = async (times = 1): Promise<void> => {
    for (let at = 0; at < times; at++) {
      const { status } = await sender.send(mrMessage('status-update', 'sender', 'reader'));
      assert.equal(status, 202);
    }
  };
  return { parley, sender, reader, send };
};

const DEPTH = 'inbox_depth{project="default",agent="reader"}';

/** A busy machine may be slow at any time: each test looks at one metric only. */
const alertsOf = async ({ admin }: TestParley, name: string): Promise<Wire[]> =>
  (await admin.call('GET', '/v1/events?type=metric.exceeded')).body.events
    .map(({ data }: Wire) => data)
    .filter(({ metric }: Wire) => metric === name);

describe('GET /metrics', () => {
  it('has the metrics of the Message Routing document by name, for messages of its dialect', async (t) => {
    const { parley, reader, send } = await start(t);
    await send(12);
    await reader.inbox();
    const other = await parley.agent('other');
    await other.request();
    await other.inbox();
    const samples = await scrape(parley.admin);
    assert.deepEqual(
      [
        samples.get('message_write_latency_ms_count{project="default"}'),
        samples.get('message_read_latency_ms_count{project="default"}'),
        samples.get(DEPTH),
        samples.get('eviction_count{project="default",agent="reader"}'),
      ],
      [12, 1, 10, 2],
    );
    assert.ok(Number(samples.get('message_write_latency_ms_sum{project="default"}')) > 0);
    const buckets = [...samples].filter(([name]) => name.startsWith('message_write_latency_ms_bucket'));
    assert.deepEqual(buckets.at(-1), ['message_write_latency_ms_bucket{project="default",le="+Inf"}', 12]);
    for (const [at, [, count]] of buckets.entries()) assert.ok(count >= (buckets[at - 1]?.[1] ?? 0));
  });

  it('says what each metric is, and of which type', async (t) => {
    const { parley } = await start(t);
    const { body } = await parley.admin.call('GET', '/metrics');
    for (const [name, type] of [
      ['message_write_latency_ms', 'histogram'],
      ['message_read_latency_ms', 'histogram'],
      ['inbox_depth', 'gauge'],
      ['eviction_count', 'counter'],
    ])
      assert.match(body, new RegExp(`^# HELP ${name} .+\n# TYPE ${name} ${type}$`, 'm'));
  });

  it('shows the depth of an inbox as it is now, also after a restart, and leaves an empty inbox out', async (t) => {
    const { parley, reader, send } = await start(t);
    await send(3);
    assert.equal((await scrape(parley.admin)).get(DEPTH), 3);
    await parley.restart();
    assert.equal((await scrape(parley.admin)).get(DEPTH), 3);
    assert.equal((await reader.call('GET', '/v1/inbox?mode=take')).body.messages.length, 3);
    assert.equal((await scrape(parley.admin)).get(DEPTH), 0);
    await scrape(parley.admin);
    assert.equal((await scrape(parley.admin)).get(DEPTH), undefined);
  });

  it('shows an agent the metrics of its own project, and nobody else any', async (t) => {
    const projects = { ...config.projects, another: { domains: {}, relay: false } };
    const { parley, reader, send } = await start(t, { config: { projects } });
    await send();
    assert.equal((await scrape(reader)).get(DEPTH), 1);
    assert.equal((await parley.transport('GET', '/metrics', {}, undefined)).status, 401);
    const key = generateKey('another', '@admin');
    await ensureKey(parley.parley.deps.records, 'another', 'admin', key);
    const samples = [...(await scrape(callerWith(parley.transport, key)))];
    assert.deepEqual(samples, [['open_waits{project="another"}', 0]]);
  });
});

describe('the metrics of tasks', () => {
  it('count what became of them, how long it took, what is refused, and what waits now', async (t) => {
    const parley = await testParley(t);
    const requester = await parley.agent('requester', { capabilities: [] });
    const worker = await parley.agent('worker', { capabilities: ['security.scan'] });
    for (let n = 0; n < 4; n++) await requester.request({ payload: { task: 'security.scan' }, ttl: 3600 });
    const [first, second] = await worker.claim({ max: 2 });
    parley.clock.advance(20_000);
    await worker.complete(first.message.id);
    await worker.fail(second.message.id, { error: 'invalid_params', message: 'no' });
    assert.equal((await worker.call('GET', '/v1/stats')).status, 403);
    const [last] = await worker.claim();
    const wait = worker.call('GET', '/v1/inbox?wait=20');
    const sample = (name: string, labels = '') => `${name}{project="default"${labels}}`;
    const queue = ',queue="capability:security.scan"';
    await eventually(async () => {
      const samples = await scrape(parley.admin);
      assert.deepEqual(
        [
          ...['submitted', 'claimed', 'completed', 'failed'].map((name) => samples.get(sample(`task_${name}_count`))),
          samples.get(sample('dead_letter_count')),
          samples.get(sample('task_claim_latency_ms_bucket', ',le="10"')),
          samples.get(sample('task_claim_latency_ms_count')),
          samples.get(sample('task_end_latency_ms_bucket', ',le="15000"')),
          samples.get(sample('task_end_latency_ms_bucket', ',le="60000"')),
          samples.get(sample('refusal_count', ',code="forbidden"')),
          samples.get(sample('open_waits')),
          samples.get(sample('queue_depth', queue)),
          samples.get(sample('queue_oldest_age_ms', queue)),
          samples.get(sample('queue_in_flight', queue)),
        ],
        [4, 3, 1, 1, 1, 2, 3, 0, 2, 1, 1, 1, 20_000, 1],
      );
      assert.ok(Number(samples.get(sample('request_latency_ms_count'))) > 4);
      assert.ok(Number(samples.get(sample('change_lag_ms_count'))) > 0);
    });
    await worker.complete(last.message.id);
    const rest = await worker.claim();
    await worker.complete(rest[0].message.id);
    assert.equal((await scrape(parley.admin)).get(sample('queue_depth', queue)), undefined);
    parley.clock.advance(20_000);
    await wait;
    assert.equal((await scrape(parley.admin)).get(sample('open_waits')), 0);
  });
});

describe('a metric above its alert threshold', () => {
  it('is told for an inbox that is more than 80 % full, in the log and as an event, once a minute', async (t) => {
    const lines: unknown[] = [];
    const log: TestOptions['log'] = (_level, message, facts) => {
      if (message === 'metric exceeds its alert threshold' && facts?.metric === 'inbox_depth') lines.push(facts.value);
    };
    const { parley, send } = await start(t, { log });
    await send(8);
    assert.deepEqual([await alertsOf(parley, 'inbox_depth'), lines], [[], []]);
    await send(2);
    const alert = { agent: 'reader', metric: 'inbox_depth', value: 9, threshold: 8 };
    assert.deepEqual([await alertsOf(parley, 'inbox_depth'), lines], [[alert], [9]]);
    parley.clock.advance(60_000);
    await send();
    assert.deepEqual(await alertsOf(parley, 'inbox_depth'), [alert, { ...alert, value: 10 }]);
    assert.deepEqual(lines, [9, 10]);
  });

  it('is told for a message that takes more than 100 ms to be written, or 200 ms to be read', async (t) => {
    let delayMs = 0;
    const { parley, reader, send } = await start(t, {
      wrapPorts: (ports) => ({
        ...ports,
        records: {
          ...ports.records,
          query: async (...args) => {
            await pause(delayMs);
            return ports.records.query(...args);
          },
        },
      }),
    });
    delayMs = 120;
    await send();
    delayMs = 220;
    await reader.inbox();
    delayMs = 0;
    for (const [metric, threshold, agent] of [
      ['message_write_latency_ms', 100, 'sender'],
      ['message_read_latency_ms', 200, 'reader'],
    ] as const) {
      await eventually(async () => {
        const [alert] = await alertsOf(parley, metric);
        assert.deepEqual([alert?.threshold, alert?.agent], [threshold, agent]);
        assert.ok(alert?.value > threshold);
      });
    }
  });
});
