import { setMaxListeners } from 'node:events';
import { jetstreamManager } from '@nats-io/jetstream';
import type { Log } from '../shared/log.ts';
import { PRIORITIES } from '../shared/ports/queues.ts';
import type { Plan } from '../shared/relay/plan.ts';
import { connectTo, type NatsOptions } from './connect.ts';
import { Down } from './down.ts';
import { hear } from './hear.ts';
import { type Gauges, Metrics } from './metrics.ts';
import { type ParleyApi, Refusal } from './parley-api.ts';
import { growingMs, pause } from './pause.ts';
import { StartError } from './settings.ts';
import { Site } from './site.ts';
import type { Source } from './source.ts';
import { coreSubjects, type Durable, prepare } from './streams.ts';
import { Up } from './up.ts';

export interface RelayOptions {
  nats: NatsOptions;
  api: ParleyApi;
  source: (project: string) => Source;
  log: Log;
  batchSize?: number;
  maxInflight?: number;
  fetchMs?: number;
  /** After this, a message that a relay took and did not settle is given to another. */
  ackWaitMs?: number;
  warmupMs?: number;
}

/** A relay at work. */
export interface Relay {
  metrics: Metrics;
  /** Whether it carries messages both ways at this moment. */
  isReady(): Promise<boolean>;
  gauges(): Promise<Gauges>;
  /** Takes nothing more, settles what it has taken, and disconnects. */
  stop(): Promise<void>;
}

/** A call that is still under way then comes again, here or elsewhere. */
const DRAIN_MS = 15_000;

/** Of messages that were taken from NATS and are not settled, over all consumers; each may hold a few of any size. */
const HELD_BYTES = 32 * 1024 * 1024;
const FEWEST_BYTES = 2 * 1024 * 1024;

export const startRelay = async (options: RelayOptions): Promise<Relay> => {
  const { api, log, warmupMs = 30_000, ackWaitMs = 60_000 } = options;
  const until = Date.now() + warmupMs;
  const plan = await planFrom(api, until);
  const connection = await connectTo(options.nats, `parley-relay-${plan.project}`, until - Date.now());
  const site = new Site(connection, plan.project, log);
  try {
    const jsm = await jetstreamManager(connection);
    const makeMissing = () => prepare(jsm, plan, ackWaitMs, log);
    return run(site, plan, await makeMissing(), { ...options, makeMissing: oneAtATime(makeMissing) });
  } catch (error) {
    await connection.close();
    throw error;
  }
};

/** Parley may still be starting; a key that it does not know is a mistake. */
const planFrom = async (api: ParleyApi, until: number): Promise<Plan> => {
  for (let attempts = 0; ; attempts++) {
    try {
      return await api.plan();
    } catch (cause) {
      const isRefused = cause instanceof Refusal && cause.status < 500 && cause.status !== 429;
      const why = cause instanceof Error ? cause.message : String(cause);
      if (isRefused)
        throw new StartError(`${why} Is PARLEY_RELAY_KEY the key of a relay, and PARLEY_URL right?`, { cause });
      if (Date.now() >= until) throw new StartError(`Parley cannot be reached at PARLEY_URL: ${why}`, { cause });
      await pause(Math.min(growingMs(attempts), 1000), new AbortController().signal);
    }
  }
};

/** Whoever asks while it runs shares what comes of it. */
const oneAtATime = <T>(work: () => Promise<T>): (() => Promise<T>) => {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
};

interface RunOptions extends RelayOptions {
  /** Makes the streams and consumers that are gone. */
  makeMissing: () => Promise<unknown>;
}

const run = (site: Site, plan: Plan, durables: Durable[], options: RunOptions): Relay => {
  const { api, log, makeMissing, batchSize = 25, maxInflight = 500, fetchMs = 30_000 } = options;
  const metrics = new Metrics();
  const ending = new AbortController();
  const { signal } = ending;
  setMaxListeners(0, signal);
  const refused = new Set<string>();
  const source = options.source(plan.project);
  const shared = { site, api, metrics, log, signal };
  const heldBytes = Math.max(HELD_BYTES / durables.length, FEWEST_BYTES);
  const taking = { ...shared, makeMissing, batchSize, maxInflight, fetchMs, heldBytes };
  const ups = durables.map((durable) => {
    const onKey = (isGood: boolean): void =>
      void (isGood ? refused.delete(durable.durable) : refused.add(durable.durable));
    return new Up(durable, { ...taking, onKey });
  });
  const downs = PRIORITIES.map((priority) => new Down(priority, { ...shared, source }));
  for (const subject of coreSubjects(plan.sources)) {
    hear(subject, { ...taking, onKey: () => {} });
  }
  const running = Promise.all([...ups, ...downs].map((one) => one.run()));
  log('info', 'the relay is carrying messages', { project: plan.project, server: site.connection.getServer() });
  return {
    metrics,
    isReady: async () =>
      refused.size === 0 &&
      !signal.aborted &&
      ups.every((up) => up.isReading) &&
      downs.every((down) => down.isReceiving) &&
      (await site.answers()) &&
      (await api.answers()),
    gauges: () => gaugesOf(site, durables),
    stop: async () => {
      ending.abort();
      await Promise.race([running, pause(DRAIN_MS, new AbortController().signal)]);
      for (const up of ups) up.giveBack();
      await Promise.race([site.connection.drain().catch(() => {}), pause(2000, new AbortController().signal)]);
      await site.connection.close();
      api.close();
    },
  };
};

/** What waits in each consumer, and for how long; one that cannot be asked says nothing. */
const gaugesOf = async (site: Site, durables: Durable[]): Promise<Gauges> => {
  const { isConnected } = site;
  const gauges: Gauges = { isConnected, lag: {}, waitingSeconds: {} };
  if (!isConnected) return gauges;
  const jsm = await site.js.jetstreamManager(false);
  const look = async ({ stream, durable, filter }: Durable): Promise<void> => {
    const { num_pending: pending, num_ack_pending: unsettled, ack_floor } = await jsm.consumers.info(stream, durable);
    gauges.lag[durable] = pending + unsettled;
    const behind = { seq: ack_floor.stream_seq + 1, next_by_subj: filter };
    const oldest = pending + unsettled > 0 ? await jsm.streams.getMessage(stream, behind) : undefined;
    gauges.waitingSeconds[durable] = oldest ? Math.max(0, Date.now() - oldest.time.getTime()) / 1000 : 0;
  };
  await Promise.allSettled(durables.map(look));
  return gauges;
};
