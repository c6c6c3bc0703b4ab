import type { Log } from '../../kernel/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Events } from '../../ports/events.ts';
import type { Ports } from '../../ports/ports.ts';
import type { QueueKey } from '../../ports/queues.ts';
import type { RecordChange } from '../../ports/records.ts';
import type { AwsClients } from './aws-clients.ts';
import { createAwsQueues } from './aws-queues.ts';
import { type AwsTimers, createAwsTimers } from './aws-timers.ts';
import { decodeStreamRecord, type StreamRecord } from './decode-stream-record.ts';
import type { PublishExternally } from './dynamo-events.ts';
import { createDynamoRecords } from './dynamo-records.ts';
import { createDynamoTable } from './dynamo-table.ts';
import type { InspectQueues } from './inspect-queues.ts';
import type { StorageSchema } from './item-codec.ts';
import { createS3Blobs } from './s3-blobs.ts';

export interface AwsEngineOptions {
  clients: AwsClients;
  table: string;
  bucket: string;
  /** Only the dispatcher publishes. */
  publishExternally?: PublishExternally;
  /** Only functions that list queues have it: it is no part of what agents wait for. */
  inspectQueues?: InspectQueues;
  queueUrlPrefix: string;
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
  const records = createDynamoRecords(table);
  const ports: Ports = {
    records,
    queues: createAwsQueues(
      {
        sqs: clients.sqs,
        urlPrefix: options.queueUrlPrefix,
        toSuffix: options.toQueueSuffix,
        hasQueue: options.hasQueue,
        onUndeliverable: ({ queueKey, group }) =>
          options.log('error', 'task waits for a missing queue', { ...queueKey, taskId: group }),
        clock,
        newId,
      },
      { records, clock, newId },
      options.inspectQueues ?? throwNotGiven,
    ),
    events: loadOnDemand(async () => {
      const { createDynamoEvents } = await import('./dynamo-events.ts');
      const log = { records, clock, newId, retentionMs: options.eventRetentionMs };
      return createDynamoEvents(log, options.publishExternally ?? throwNotGiven);
    }),
    blobs: createS3Blobs(clients.s3, options.bucket),
  };
  return {
    ports,
    timers: createAwsTimers(table, records, clients.sqs, options.delayQueueUrl),
    decodeStreamRecord: (record) => decodeStreamRecord(table.codec, record),
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
