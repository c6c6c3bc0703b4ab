import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { bundleRelay } from '../../relay/bundle.ts';
import { natsServer } from '../../test/support/nats-server.ts';
import { tempDir } from '../../test/support/server-process.ts';
import { chosenFrom } from '../chosen.ts';
import { lookAtMachine } from '../machine.ts';
import { median, percentile, rounded } from '../numbers.ts';
import { printTable } from '../print-table.ts';
import { residentMb } from '../process-usage.ts';
import { writeResults } from '../write-results.ts';

const HELP = `Measures a relay between a NATS server and a Parley that does nothing, against JetStream alone in the same run.

  npm run bench:relay -- [--quick]
`;
const SECTIONS = ['relay'] as const;
const COUNTS = {
  quick: { messages: 3000, latencies: 100, backlog: 6000 },
  full: { messages: 30_000, latencies: 1000, backlog: 100_000 },
};
const TEXT = 'x'.repeat(1000);
const PUBLISHED_AT_ONCE = 200;

const now = (): number => performance.timeOrigin + performance.now();

const publish = async (client: NatsConnection, subject: string, count: number): Promise<void> => {
  const js = jetstream(client);
  for (let at = 0; at < count; at += PUBLISHED_AT_ONCE) {
    const size = Math.min(PUBLISHED_AT_ONCE, count - at);
    const message = (): string => JSON.stringify({ at: now(), text: TEXT });
    await Promise.all(Array.from({ length: size }, (_, n) => js.publish(`${subject}.${at + n}`, message())));
  }
};

const perSecond = async (count: number, work: () => Promise<void>): Promise<number> => {
  const begun = now();
  await work();
  return Math.round((count * 1000) / (now() - begun));
};

const consumedRaw = async (client: NatsConnection, count: number): Promise<void> => {
  const consumer = await jetstream(client).consumers.get('RAW', 'raw');
  const messages = await consumer.consume({ max_messages: 500 });
  let taken = 0;
  for await (const message of messages) {
    message.json();
    message.ack();
    if (++taken === count) break;
  }
  await client.flush();
};

interface Seen {
  count: number;
  latencies: number[];
}

const run = async (quick: boolean, counts: (typeof COUNTS)['full']): Promise<void> => {
  const cleanUps: (() => unknown)[] = [];
  const owner = { after: (cleanUp: () => unknown) => cleanUps.push(cleanUp) };
  const children: ChildProcess[] = [];
  const start = async (file: string, args: string[] = []): Promise<[ChildProcess, unknown]> => {
    // The flags of the relay image.
    const child = fork(file, args, { execArgv: ['--max-semi-space-size=4', '--max-old-space-size=96'] });
    children.push(child);
    const [said] = await once(child, 'message');
    return [child, said];
  };
  try {
    const machine = lookAtMachine();
    const dir = tempDir(owner);
    const nats = await natsServer(owner);
    const client = await connect({ servers: nats.url });
    cleanUps.push(() => client.close());
    const jsm = await jetstreamManager(client);
    const [, said] = await start(join(import.meta.dirname, 'no-op-parley.ts'));
    const port = typeof said === 'object' && said !== null && 'port' in said ? said.port : 0;
    const address = `http://127.0.0.1:${port}`;
    const seen = async (): Promise<Seen> => (await fetch(`${address}/seen`)).json() as Promise<Seen>;
    await jsm.streams.add({ name: 'RAW', subjects: ['bench.raw.>'] });
    await jsm.consumers.add('RAW', { durable_name: 'raw', ack_policy: AckPolicy.Explicit, max_ack_pending: 20_000 });
    const rawPublished = await perSecond(counts.messages, () => publish(client, 'bench.raw', counts.messages));
    const rawConsumed = await perSecond(counts.messages, () => consumedRaw(client, counts.messages));

    const bundle = await bundleRelay(dir, join(import.meta.dirname, 'relay-under-test.ts'));
    const [relay] = await start(bundle, [nats.url, address, TEXT]);
    const pid = relay.pid ?? 0;
    /** Published while the relay is stopped, so that it then runs at full speed. */
    const up = async (count: number, meanwhile: () => void = () => {}): Promise<number> => {
      const before = (await seen()).count;
      relay.kill('SIGSTOP');
      await publish(client, 'bench.up', count);
      relay.kill('SIGCONT');
      return perSecond(count, async () => {
        for (; (await seen()).count < before + count; await pause(10)) meanwhile();
      });
    };
    await up(counts.messages / 10);
    const upRate = await up(counts.messages);

    const [rawMs, relayMs] = await latencies(client, counts.latencies, seen);
    const down = await perSecond(counts.messages, async () => {
      relay.send({ down: counts.messages });
      while ((await jsm.streams.info('DOWN')).state.messages < counts.messages) await pause(5);
    });

    const memory = [residentMb(pid)];
    const backlog = await up(counts.backlog, () => memory.push(residentMb(pid)));
    const results = {
      raw: { publishedPerSecond: rawPublished, consumedPerSecond: rawConsumed, medianMs: rounded(rawMs) },
      relay: {
        upPerSecond: upRate,
        upShareOfRaw: rounded(upRate / rawConsumed),
        downPerSecond: down,
        downShareOfRaw: rounded(down / rawPublished),
        medianMs: rounded(relayMs),
        addedMs: rounded(relayMs - rawMs),
        backlogPerSecond: backlog,
        residentMb: {
          first: memory[0],
          median: median(memory),
          most: Math.max(...memory),
          p95: percentile(memory, 95),
        },
      },
    };
    printTable(`A relay, ${counts.messages} messages of 1 KB each way, backlog ${counts.backlog}`, [
      ['', 'JetStream alone', 'through the relay', 'share'],
      ['up, messages/s', String(rawConsumed), String(upRate), `${results.relay.upShareOfRaw}`],
      ['down, messages/s', String(rawPublished), String(down), `${results.relay.downShareOfRaw}`],
      ['median latency, ms', String(rounded(rawMs)), String(rounded(relayMs)), `+${results.relay.addedMs}`],
      ['memory, MB', '', `${memory[0]} before the backlog, ${Math.max(...memory)} at most`, ''],
    ]);
    console.log(`\nwritten to ${writeResults({ quick, machine, ...results }, quick ? '-relay-quick' : '-relay')}`);
  } finally {
    for (const child of children) child.kill('SIGKILL');
    for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  }
};

const latencies = async (
  client: NatsConnection,
  count: number,
  seen: () => Promise<Seen>,
): Promise<[number, number]> => {
  const raw: number[] = [];
  const relayed: number[] = [];
  const consumer = await jetstream(client).consumers.get('RAW', 'raw');
  const messages = await consumer.consume({
    max_messages: 10,
    callback: (message) => {
      raw.push(now() - message.json<{ at: number }>().at);
      message.ack();
    },
  });
  for (let n = 0; n < count; n++) {
    await publish(client, 'bench.raw', 1);
    await pause(2);
  }
  while (raw.length < count) await pause(1);
  messages.stop();
  const before = (await seen()).count;
  for (let n = 0; n < count; n++) {
    await publish(client, 'bench.up', 1);
    await pause(4);
  }
  for (;;) {
    const { count: taken, latencies: each } = await seen();
    relayed.push(...each);
    if (taken >= before + count) return [median(raw), median(relayed)];
    await pause(10);
  }
};

const chosen = chosenFrom(process.argv.slice(2), SECTIONS, COUNTS);
if (chosen === 'help') console.log(HELP);
else await run(chosen.quick, chosen.counts);
