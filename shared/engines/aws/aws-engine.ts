import type { Ports } from '../../deps.ts';
import type { Log } from '../../log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { QueueKey } from '../../ports/queues.ts';
import type { RecordChange } from '../../ports/records.ts';
import type { AwsClients } from './aws-clients.ts';
import { createAwsQueues } from './aws-queues.ts';
import { type AwsTimers, createAwsTimers } from './aws-timers.ts';
import { decodeStreamRecord, type StreamRecord } from './decode-stream-record.ts';
import { createDynamoEvents, type PublishExternally } from './dynamo-events.ts';
import { createDynamoRecords } from './dynamo-records.ts';
import { createDynamoTable } from './dynamo-table.ts';
import type { StorageSchema } from './item-codec.ts';
import { createS3Blobs } from './s3-blobs.ts';

export interface AwsEngineOptions {
  clients: AwsClients;
  table: string;
  bucket: string;
  /** Only the dispatcher publishes. */
  announce?: PublishExternally;
  laneUrlPrefix: string;
  laneSuffix: (lane: QueueKey) => string;
  delayQueueUrl: string;
  /** Which domains' lanes the deployment has. */
  hasLane: (lane: QueueKey) => boolean;
  log: Log;
  packing: StorageSchema;
  eventsKeepMs: number;
  clock: Clock;
  newId: () => string;
}

/** All ports on DynamoDB, SQS, EventBridge and S3. It runs nothing by itself: functions are called. */
export interface AwsEngine {
  ports: Ports;
  timers: AwsTimers;
  decodeStreamRecord(record: StreamRecord): RecordChange[];
}

export const createAwsEngine = (options: AwsEngineOptions): AwsEngine => {
  const { clients, clock, newId } = options;
  const table = createDynamoTable(clients.dynamo, options.table, options.packing, clock);
  const records = createDynamoRecords(table);
  const ports: Ports = {
    records,
    queues: createAwsQueues(
      {
        sqs: clients.sqs,
        urlPrefix: options.laneUrlPrefix,
        suffixOf: options.laneSuffix,
        has: options.hasLane,
        onLost: ({ lane, group }) =>
          options.log('error', 'a task waits for a lane that is gone', { ...lane, taskId: group }),
        clock,
        newId,
      },
      { records, clock, newId },
    ),
    events: createDynamoEvents({ records, clock, newId, keepMs: options.eventsKeepMs }, options.announce ?? throwNoBus),
    blobs: createS3Blobs(clients.s3, options.bucket),
  };
  return {
    ports,
    timers: createAwsTimers(table, records, clients.sqs, options.delayQueueUrl),
    decodeStreamRecord: (record) => decodeStreamRecord(table.shelf, record),
  };
};

const throwNoBus: PublishExternally = async () => {
  throw new Error('this function was given no bus to publish on');
};
