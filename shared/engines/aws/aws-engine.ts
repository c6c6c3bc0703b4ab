import type { Log } from '../../kernel/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Events } from '../../ports/events.ts';
import type { Ports } from '../../ports/ports.ts';
import type { QueueKey } from '../../ports/queues.ts';
import type { RecordChange } from '../../ports/records.ts';
import type { AwsClients } from './aws-clients.ts';
import { createAwsQueues, type SharedReceive } from './aws-queues.ts';
import type { AwsTimers } from './aws-timers.ts';
import { decodeStreamRecord, type StreamRecord } from './decode-stream-record.ts';
import type { PublishExternally } from './dynamo-events.ts';
import { createDynamoRecords } from './dynamo-records.ts';
import { createDynamoTable } from './dynamo-table.ts';
import type { InspectQueues } from './inspect-queues.ts';
import type { StorageSchema } from './item-codec.ts';
import { type Ring, ringOnWrites } from './ring-on-writes.ts';
import { createS3Blobs } from './s3-blobs.ts';
import type { SqsQueues } from './sqs-queue.ts';

export interface AwsEngineOptions {
  clients: AwsClients;
  table: string;
  bucket: string;
  /** Only the dispatcher publishes. */
  publishExternally?: PublishExternally;
  /** Only functions that list queues have it: it is no part of what agents wait for. */
  inspectQueues?: InspectQueues;
  queueUrlPrefix: string;
  /** Where a waiter hears what is written. */
  wakeQueueUrl?: string | undefined;
  /** Of a process that receives for many at the same time. */
  share?: ((sqs: SqsQueues) => SharedReceive) | undefined;
  toQueueSuffix: (queueKey: QueueKey) => string;
  delayQueueUrl: string;
  hasQueue: (queueKey: QueueKey) => boolean;
  log: Log;
  storageSchema: StorageSchema;
  eventRetentionMs: number;
  clock: Clock;
  newId: () => string;
}

export interface AwsEngine {
  ports: Ports;
  timers: AwsTimers;
  decodeStreamRecord(record: StreamRecord): RecordChange[];
}

export const createAwsEngine = (options: AwsEngineOptions): AwsEngine => {
  const { clients, clock, newId } = options;
  const table = createDynamoTable(clients.dynamo, options.table, options.storageSchema, clock);
  const queues: SqsQueues = {
    sqs: clients.sqs,
    urlPrefix: options.queueUrlPrefix,
    toSuffix: options.toQueueSuffix,
    hasQueue: options.hasQueue,
    onUndeliverable: ({ queueKey, group }) =>
      options.log('error', 'task waits for a missing queue', { ...queueKey, taskId: group }),
    clock,
    newId,
  };
  const shared = options.share?.(queues);
  const stored = createDynamoRecords(table, shared?.watch);
  const ring = options.wakeQueueUrl === undefined ? undefined : loadBell(clients, options.wakeQueueUrl);
  const records = ring ? ringOnWrites(stored, ring) : stored;
  const lists = { records, clock, newId };
  const ports: Ports = {
    records,
    queues: createAwsQueues(queues, lists, options.inspectQueues ?? throwNotGiven, { shared, ring }),
    events: loadOnDemand(async () => {
      const { createDynamoEvents } = await import('./dynamo-events.ts');
      const log = { records, clock, newId, retentionMs: options.eventRetentionMs };
      return createDynamoEvents(log, options.publishExternally ?? throwNotGiven);
    }),
    blobs: createS3Blobs(clients.s3, options.bucket),
  };
  return {
    ports,
    timers: loadTimers((create) => create(table, records, clients.sqs, options.delayQueueUrl)),
    decodeStreamRecord: (record) => decodeStreamRecord(table.codec, record),
  };
};

type CreateTimers = typeof import('./aws-timers.ts')['createAwsTimers'];

/** No function that answers calls has timers. */
const loadTimers = (create: (createTimers: CreateTimers) => AwsTimers): AwsTimers => {
  let loaded: Promise<AwsTimers> | undefined;
  const get = (): Promise<AwsTimers> => {
    loaded ??= import('./aws-timers.ts').then(({ createAwsTimers }) => create(createAwsTimers));
    return loaded;
  };
  return {
    sweep: async (...args) => (await get()).sweep(...args),
    scheduleSoonDue: async (...args) => (await get()).scheduleSoonDue(...args),
    fire: async (...args) => (await get()).fire(...args),
  };
};

/** Not in every deployment. */
const loadBell = ({ sqs }: AwsClients, url: string): Ring => {
  let bell: Promise<Ring> | undefined;
  return async (keys) => {
    bell ??= import('./waiter-bell.ts').then(({ createBell }) => createBell(sqs, url));
    await (await bell)(keys);
  };
};

/** Ingest neither reads nor publishes. */
const loadOnDemand = (load: () => Promise<Events>): Events => {
  let loaded: Promise<Events> | undefined;
  const get = (): Promise<Events> => {
    loaded ??= load();
    return loaded;
  };
  return {
    publish: async (...args) => (await get()).publish(...args),
    read: async (...args) => (await get()).read(...args),
    getEnd: async (...args) => (await get()).getEnd(...args),
    findPositionAt: async (...args) => (await get()).findPositionAt(...args),
    waitForMore: async (...args) => (await get()).waitForMore(...args),
  };
};

const throwNotGiven = async (): Promise<never> => {
  throw new Error('this function was not given that');
};
