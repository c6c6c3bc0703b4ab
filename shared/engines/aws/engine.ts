import type { Ports } from '../../deps.ts';
import type { Log } from '../../log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Lane } from '../../ports/queues.ts';
import type { RecordChange } from '../../ports/records.ts';
import type { Packing } from './attributes.ts';
import { blobsOn } from './blobs.ts';
import type { AwsClients } from './clients.ts';
import { type Announce, eventsOn } from './events.ts';
import { queuesOn } from './queues.ts';
import { recordsOn } from './records.ts';
import { changesIn, type StreamRecord } from './stream.ts';
import { tableOf } from './table.ts';
import { type Timers, timersOn } from './timers.ts';

export interface AwsOptions {
  clients: AwsClients;
  table: string;
  bucket: string;
  /** Only the dispatcher publishes. */
  announce?: Announce;
  laneUrlPrefix: string;
  laneSuffix: (lane: Lane) => string;
  delayQueueUrl: string;
  /** Which domains' lanes the deployment has. */
  hasLane: (lane: Lane) => boolean;
  log: Log;
  packing: Packing;
  eventsKeepMs: number;
  clock: Clock;
  newId: () => string;
}

/** All ports on DynamoDB, SQS, EventBridge and S3. It runs nothing by itself: functions are called. */
export interface AwsEngine {
  ports: Ports;
  timers: Timers;
  changesIn(record: StreamRecord): RecordChange[];
}

export const awsEngine = (options: AwsOptions): AwsEngine => {
  const { clients, clock, newId } = options;
  const table = tableOf(clients.dynamo, options.table, options.packing, clock);
  const records = recordsOn(table);
  const ports: Ports = {
    records,
    queues: queuesOn(
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
    events: eventsOn({ records, clock, newId, keepMs: options.eventsKeepMs }, options.announce ?? nowhere),
    blobs: blobsOn(clients.s3, options.bucket),
  };
  return {
    ports,
    timers: timersOn(table, records, clients.sqs, options.delayQueueUrl),
    changesIn: (record) => changesIn(table.shelf, record),
  };
};

const nowhere: Announce = async () => {
  throw new Error('this function was given no bus to publish on');
};
