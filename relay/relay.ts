import { setMaxListeners } from 'node:events';
import { jetstreamManager } from '@nats-io/jetstream';
import type { Log } from '../shared/kernel/log.ts';
import type { RelayPlan } from '../shared/nats/relay-plan.ts';
import { PRIORITIES } from '../shared/ports/queues.ts';
import { computeBackoffMs, sleepUntilAborted } from './backoff.ts';
import { connectToNats, type NatsOptions } from './connect.ts';
import { Egress } from './egress.ts';
import type { EgressSource } from './egress-source.ts';
import { Ingress } from './ingress.ts';
import { type RelayGauges, RelayMetrics } from './metrics.ts';
import { NatsClient } from './nats-client.ts';
import { type ParleyApi, ParleyResponseError } from './parley-api.ts';
import { type DurableConsumer, listCoreSubjects, provisionStreams } from './provision-streams.ts';
import { RelayStartError } from './settings.ts';
import { subscribeCore } from './subscribe-core.ts';
import { UNREAD_INTERVAL_MS, UnreadSubjects } from './unread-subjects.ts';

export interface RelayOptions {
  nats: NatsOptions;
  api: ParleyApi;
  source: (project: string) => EgressSource;
  log: Log;
  batchSize?: number;
  maxInflight?: number;
  fetchMs?: number;
  /** JetStream redelivers a message that was not settled in this time. */
  ackWaitMs?: number;
  warmupMs?: number;
  /** How often subjects are looked for that nobody reads. */
  unreadIntervalMs?: number;
}

export interface RunningRelay {
  metrics: RelayMetrics;
  isConnected(): boolean;
  isReady(): Promise<boolean>;
  getGauges(): Promise<RelayGauges>;
  stop(): Promise<void>;
}

/** A call that is still open after this is repeated after redelivery. */
const DRAIN_TIMEOUT_MS = 15_000;

/** Over all consumers. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;
const MIN_HELD_BYTES = 2 * 1024 * 1024;

export const startRelay = async (options: RelayOptions): Promise<RunningRelay> => {
  const { api, log, warmupMs = 30_000, ackWaitMs = 60_000 } = options;
  const until = Date.now() + warmupMs;
  const plan = await loadPlan(api, until);
  const connection = await connectToNats(options.nats, `parley-relay-${plan.project}`, until - Date.now());
  const site = new NatsClient(connection, plan.project, log);
  try {
    const jsm = await jetstreamManager(connection);
    const provisionMissing = () => provisionStreams(jsm, plan, ackWaitMs, log);
    return runRelay(site, plan, await provisionMissing(), {
      ...options,
      provisionMissing: shareInFlight(provisionMissing),
    });
  } catch (error) {
    await connection.close();
    throw error;
  }
};

/** Parley may still be starting, but an unknown key fails at once. */
const loadPlan = async (api: ParleyApi, until: number): Promise<RelayPlan> => {
  for (let attempts = 0; ; attempts++) {
    try {
      return await api.getPlan();
    } catch (cause) {
      const isRefused = cause instanceof ParleyResponseError && cause.status < 500 && cause.status !== 429;
      const why = cause instanceof Error ? cause.message : String(cause);
      if (isRefused)
        throw new RelayStartError(`${why} Is PARLEY_RELAY_KEY the key of a relay, and PARLEY_URL right?`, { cause });
      if (Date.now() >= until) throw new RelayStartError(`Parley cannot be reached at PARLEY_URL: ${why}`, { cause });
      await sleepUntilAborted(Math.min(computeBackoffMs(attempts), 1000), new AbortController().signal);
    }
  }
};

const shareInFlight = <T>(work: () => Promise<T>): (() => Promise<T>) => {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
};

interface RelayRunOptions extends RelayOptions {
  provisionMissing: () => Promise<unknown>;
}

const runRelay = (
  site: NatsClient,
  plan: RelayPlan,
  durables: DurableConsumer[],
  options: RelayRunOptions,
): RunningRelay => {
  const { api, log, provisionMissing, batchSize = 25, maxInflight = 500, fetchMs = 30_000 } = options;
  const { unreadIntervalMs = UNREAD_INTERVAL_MS } = options;
  const metrics = new RelayMetrics();
  const ending = new AbortController();
  const { signal } = ending;
  setMaxListeners(0, signal);
  const refused = new Set<string>();
  const source = options.source(plan.project);
  const shared = { site, api, metrics, log, signal };
  const heldBytes = Math.max(MAX_HELD_BYTES / durables.length, MIN_HELD_BYTES);
  const taking = { ...shared, provisionMissing, batchSize, maxInflight, fetchMs, heldBytes };
  const ups = durables.map((durable) => {
    const onKey = (isGood: boolean): void =>
      void (isGood ? refused.delete(durable.durable) : refused.add(durable.durable));
    return new Ingress(durable, { ...taking, onKeyChange: onKey });
  });
  const downs = PRIORITIES.map((priority) => new Egress(priority, { ...shared, source }));
  for (const subject of listCoreSubjects(plan.sources)) {
    subscribeCore(subject, { ...taking, onKeyChange: () => {} });
  }
  const unread = plan.unread.map(
    (subjects) => new UnreadSubjects(subjects, { ...shared, intervalMs: unreadIntervalMs }),
  );
  const running = Promise.all([...ups, ...downs, ...unread].map((one) => one.run()));
  log('info', 'relay running', { project: plan.project, server: site.connection.getServer() });
  return {
    metrics,
    isConnected: () => site.isConnected,
    isReady: async () =>
      refused.size === 0 &&
      !signal.aborted &&
      ups.every((up) => up.isReading) &&
      downs.every((down) => down.isReceiving) &&
      (await site.isResponsive()) &&
      (await api.isResponsive()),
    getGauges: () => loadGauges(site, durables),
    stop: async () => {
      ending.abort();
      await Promise.race([running, sleepUntilAborted(DRAIN_TIMEOUT_MS, new AbortController().signal)]);
      for (const up of ups) up.nakHeld();
      await Promise.race([
        site.connection.drain().catch(() => {}),
        sleepUntilAborted(2000, new AbortController().signal),
      ]);
      await site.connection.close();
      api.close();
    },
  };
};

const loadGauges = async (site: NatsClient, durables: DurableConsumer[]): Promise<RelayGauges> => {
  const { isConnected } = site;
  const gauges: RelayGauges = { isConnected, lag: {}, waitingSeconds: {} };
  if (!isConnected) return gauges;
  const jsm = await site.js.jetstreamManager(false);
  const look = async ({ stream, durable, filter }: DurableConsumer): Promise<void> => {
    const { num_pending: pending, num_ack_pending: unsettled, ack_floor } = await jsm.consumers.info(stream, durable);
    gauges.lag[durable] = pending + unsettled;
    const behind = { seq: ack_floor.stream_seq + 1, next_by_subj: filter };
    const oldest = pending + unsettled > 0 ? await jsm.streams.getMessage(stream, behind) : undefined;
    gauges.waitingSeconds[durable] = oldest ? Math.max(0, Date.now() - oldest.time.getTime()) / 1000 : 0;
  };
  await Promise.allSettled(durables.map(look));
  return gauges;
};
