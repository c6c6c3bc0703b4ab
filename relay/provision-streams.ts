import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { Log } from '../shared/kernel/log.ts';
import type { RelayPlan, StreamSpec, SubscriptionSpec } from '../shared/nats/relay-plan.ts';
import { RelayStartError } from './settings.ts';

export interface DurableConsumer {
  stream: string;
  durable: string;
  filter: string;
}

/** JetStream API error codes. */
const SUBJECTS_OVERLAP = 10065;
const STREAM_NOT_FOUND = 10059;
const CONSUMER_NOT_FOUND = 10014;

/** A publish repeated after a crash arrives well within this window. */
const DUPLICATE_WINDOW_SECONDS = 600;
/** Messages in backoff count as pending and must not block new ones. */
const MAX_ACK_PENDING = 20_000;

/** Never changes existing streams. Two relays may run it concurrently. */
export const provisionStreams = async (
  jsm: JetStreamManager,
  plan: RelayPlan,
  ackWaitMs: number,
  log: Log,
): Promise<DurableConsumer[]> => {
  const names = new Map<string, { name: string; isNew: boolean; isWorkqueue: boolean }>();
  for (const stream of plan.streams) names.set(stream.name, await provisionStream(jsm, stream, log));
  const wanted = plan.sources.flatMap(({ stream, durable, filter }) => {
    const found = stream === undefined ? undefined : names.get(stream);
    return found && durable !== undefined ? [{ ...found, durable, filter }] : [];
  });
  await assertNoOverlaps(jsm, plan, wanted, log);
  for (const one of wanted) await provisionConsumer(jsm, one, ackWaitMs, log);
  return wanted.map(({ name, durable, filter }) => ({ stream: name, durable, filter }));
};

const isApiError = (error: unknown, code: number): boolean => error instanceof JetStreamApiError && error.code === code;

export const isStreamOrConsumerMissing = (error: unknown): boolean =>
  isApiError(error, STREAM_NOT_FOUND) || isApiError(error, CONSUMER_NOT_FOUND);

const provisionStream = async (jsm: JetStreamManager, stream: StreamSpec, log: Log) => {
  const isWorkqueue = stream.retention === 'workqueue';
  const wanted = toStreamConfig(stream);
  const existing = await jsm.streams.info(stream.name).catch((error: unknown) => {
    if (isApiError(error, STREAM_NOT_FOUND)) return undefined;
    throw error;
  });
  if (existing) {
    logDifferences(stream.name, existing.config, wanted, log);
    return { name: stream.name, isNew: false, isWorkqueue: existing.config.retention === RetentionPolicy.Workqueue };
  }
  try {
    await jsm.streams.add(wanted);
    log('info', 'stream created', { stream: stream.name });
    return { name: stream.name, isNew: true, isWorkqueue };
  } catch (error) {
    if (!isApiError(error, SUBJECTS_OVERLAP)) throw error;
    const name = await jsm.streams.find(stream.subjects[0] ?? '').catch(() => undefined);
    if (name === undefined) throw new RelayStartError(`The stream ${stream.name} cannot be made: ${String(error)}.`);
    const { config } = await jsm.streams.info(name);
    logDifferences(name, config, wanted, log);
    return { name, isNew: false, isWorkqueue: config.retention === RetentionPolicy.Workqueue };
  }
};

const toStreamConfig = (stream: StreamSpec): Partial<StreamConfig> & { name: string } => ({
  name: stream.name,
  subjects: stream.subjects,
  retention: stream.retention === 'workqueue' ? RetentionPolicy.Workqueue : RetentionPolicy.Limits,
  storage: stream.storage === 'memory' ? StorageType.Memory : StorageType.File,
  discard: DiscardPolicy.Old,
  max_age: nanos(stream.maxAgeSeconds * 1000),
  max_msg_size: stream.maxMessageBytes ?? -1,
  max_msgs_per_subject: stream.maxPerSubject ?? -1,
  duplicate_window: nanos(Math.min(DUPLICATE_WINDOW_SECONDS, stream.maxAgeSeconds) * 1000),
});

const COMPARED_FIELDS = [
  'name',
  'subjects',
  'retention',
  'storage',
  'max_age',
  'max_msg_size',
  'max_msgs_per_subject',
] as const;

const logDifferences = (name: string, found: StreamConfig, wanted: Partial<StreamConfig>, log: Log): void => {
  const differences = COMPARED_FIELDS.filter((field) => JSON.stringify(found[field]) !== JSON.stringify(wanted[field]));
  if (differences.length === 0) return;
  const lines = differences.map(
    (field) => `${field} is ${JSON.stringify(found[field])}, not ${JSON.stringify(wanted[field])}`,
  );
  log('warn', 'stream configuration differs, left as it is', {
    stream: name,
    differences: lines,
  });
};

interface ConsumerSpec {
  name: string;
  isNew: boolean;
  isWorkqueue: boolean;
  durable: string;
  filter: string;
}

/** A workqueue stream allows one consumer per subject, so an agent's or an old consumer blocks the relay's. */
const assertNoOverlaps = async (
  jsm: JetStreamManager,
  { project }: RelayPlan,
  wanted: ConsumerSpec[],
  log: Log,
): Promise<void> => {
  const mistakes: string[] = [];
  for (const stream of new Set(wanted.filter(({ isWorkqueue }) => isWorkqueue).map(({ name }) => name))) {
    const own = wanted.filter(({ name }) => name === stream);
    for await (const { name, config } of jsm.consumers.list(stream)) {
      if (own.some(({ durable }) => durable === name)) continue;
      if (name.startsWith(`parley-${project}-`)) {
        await jsm.consumers.delete(stream, name);
        log('info', 'stale consumer deleted', { stream, consumer: name });
        continue;
      }
      const filters = config.filter_subjects ?? [config.filter_subject ?? '>'];
      for (const { filter } of own.filter((one) => filters.some((other) => isOverlapping(one.filter, other)))) {
        mistakes.push(`  ${filter} is read in ${stream} by the consumer ${name} (${filters.join(', ')})`);
      }
    }
  }
  if (mistakes.length === 0) return;
  throw new RelayStartError(
    `What the relay reads for the cloud is read on-prem as well:\n${mistakes.join('\n')}\n` +
      "A domain is served on one side: give it via: 'nats' in parley.config.ts, or remove the consumer.",
  );
};

export const isOverlapping = (one: string, other: string): boolean => {
  const [a, b] = [one.split('.'), other.split('.')];
  for (let at = 0; ; at++) {
    const [left, right] = [a[at], b[at]];
    if (left === undefined || right === undefined) return left === right;
    if (left === '>' || right === '>') return true;
    if (left !== '*' && right !== '*' && left !== right) return false;
  }
};

const provisionConsumer = async (
  jsm: JetStreamManager,
  wanted: ConsumerSpec,
  ackWaitMs: number,
  log: Log,
): Promise<void> => {
  const { name: stream, durable, filter } = wanted;
  const existing = await jsm.consumers.info(stream, durable).catch((error: unknown) => {
    if (isApiError(error, CONSUMER_NOT_FOUND)) return undefined;
    throw error;
  });
  if (existing) {
    if (existing.config.filter_subject === filter) return;
    log('warn', 'consumer configuration differs, left as it is', {
      stream,
      consumer: durable,
    });
    return;
  }
  try {
    await jsm.consumers.add(stream, {
      ...buildDeliverPolicy(wanted),
      ...buildConsumerConfig(durable, filter, ackWaitMs),
    });
    log('info', 'consumer created', { stream, consumer: durable, filter });
  } catch (error) {
    // Another relay may have created it meanwhile.
    if (!(await jsm.consumers.info(stream, durable).catch(() => undefined))) throw error;
  }
};

const buildConsumerConfig = (durable: string, filter: string, ackWaitMs: number) => ({
  durable_name: durable,
  filter_subject: filter,
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(ackWaitMs),
  max_deliver: -1,
  max_ack_pending: MAX_ACK_PENDING,
});

/** Messages from before the first relay are skipped, except work in workqueues. */
const buildDeliverPolicy = ({ isNew, isWorkqueue }: ConsumerSpec): Partial<ConsumerConfig> =>
  isNew || isWorkqueue
    ? { deliver_policy: DeliverPolicy.All }
    : {
        deliver_policy: DeliverPolicy.StartTime,
        opt_start_time: new Date(Date.now() - LOOK_BACK_MS).toISOString(),
      };

/** Another relay may have created the stream moments ago. */
const LOOK_BACK_MS = 60_000;

export const listCoreSubjects = (sources: SubscriptionSpec[]): string[] =>
  sources.flatMap(({ stream, filter }) => (stream === undefined ? [filter] : []));
