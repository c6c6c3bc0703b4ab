import { randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { DeleteItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { DeleteObjectCommand, GetObjectTaggingCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { DeleteMessageCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { type AwsClients, createAwsClients } from '../../shared/engines/aws/aws-clients.ts';
import { type AwsEngine, createAwsEngine } from '../../shared/engines/aws/aws-engine.ts';
import { inspectQueues } from '../../shared/engines/aws/inspect-queues.ts';
import { UNRETAINED_TAG } from '../../shared/engines/aws/unretained-tag.ts';
import type { EngineHandlers } from '../../shared/ports/engine-handlers.ts';
import type { Ports } from '../../shared/ports/ports.ts';
import { buildQueueSuffix } from '../../shared/ports/queue-names.ts';
import type { QueueKey } from '../../shared/ports/queues.ts';
import { type AwsServices, startAwsServices } from '../support/aws-services.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { StreamFollower } from '../support/stream-follower.ts';
import { engineContract } from './engine-contract.ts';
import { type Open, WATCHED } from './engine-under-test.ts';
import { LISTED, LISTED_FIXED } from './lists-contract.ts';

const BUCKET = 'contents';

let services: AwsServices;
let clients: AwsClients;

before(async () => {
  services = await startAwsServices();
  services.queues.createBucket(BUCKET);
  const [dynamo, faux] = [createAwsClients(services.dynamo), createAwsClients(services.faux)];
  clients = { dynamo: dynamo.dynamo, sqs: faux.sqs, s3: faux.s3 };
});

after(async () => {
  clients.dynamo.destroy();
  clients.sqs.destroy();
  (await clients.s3()).destroy();
  await services.stop();
});

/** What SQS measures must really be waited for. */
const REAL_MS = 5000;
const STEP_MS = 20;
/** A sweep asks for every shard. It comes every minute on AWS, and here also whenever a test lets time pass. */
const SWEEP_EVERY_MS = 1000;

const open: Open = async (t) => {
  const name = `t-${randomUUID()}`;
  await services.createTable(name);
  const clock = new MovableClock();
  const delay = services.queues.createQueue(`delay-${name}`);
  const engine = createAwsEngine({
    clients,
    table: name,
    bucket: BUCKET,
    queueUrlPrefix: `${services.faux.endpoint}/000000000000/`,
    delayQueueUrl: delay.queueUrl,
    toQueueSuffix: buildQueueSuffix,
    hasQueue: () => true,
    log: () => {},
    storageSchema: {
      [WATCHED]: { immutable: ['title', 'deep', 'by'], compressed: ['tags'] },
      [LISTED]: { immutable: ['from', 'capability', 'text'], compressed: [], listed: LISTED_FIXED },
    },
    eventRetentionMs: 30 * 86_400_000,
    clock,
    newId: randomUUID,
    publishExternally: async () => {},
    inspectQueues,
  });
  const follower = new StreamFollower(services.dynamo, name, WATCHED);
  let life = { isOver: false };
  let followers: EngineHandlers | undefined;
  const running = new Set<Promise<void>>();
  const live = async (mine: { isOver: boolean }): Promise<void> => {
    let sweptAt = 0;
    for (; !mine.isOver; await pause(STEP_MS)) {
      const following = followers;
      if (!following || mine.isOver) continue;
      await Promise.race([ended(mine), follower.step(engine, following.onChanges)]);
      if (clock.now() - sweptAt >= SWEEP_EVERY_MS) {
        sweptAt = clock.now();
        await engine.timers.sweep(sweptAt);
      }
      await fireAll(engine, delay.queueUrl, following.onTimer);
    }
  };
  const begin = (): void => {
    const run = live(life);
    running.add(run);
  };
  begin();
  t.after(async () => {
    life.isOver = true;
    await Promise.allSettled(running);
    follower.close();
  });
  return {
    ports: withQueues(engine.ports),
    now: () => clock.now(),
    pass: async (ms) => {
      if (ms <= REAL_MS) {
        await pause(ms);
        return;
      }
      clock.advance(ms);
      await removeExpired(name, clock.now());
      if (ms >= UNOWNED_MS) await removeUnowned();
    },
    follow: (wanted) => {
      followers = { onChanges: async () => {}, onTimer: async () => {}, ...wanted };
    },
    crash: async () => {
      life.isOver = true;
      life = { isOver: false };
      followers = undefined;
      begin();
    },
  };
};

/** Resolves when the run that it belongs to is over: what it was doing then never ends. */
const ended = async (mine: { isOver: boolean }): Promise<void> => {
  while (!mine.isOver) await pause(STEP_MS);
};

/** A deployment has its queues; here every test has its own. */
const withQueues = (ports: Ports): Ports => {
  const known = new Set<string>();
  const made = (lanes: QueueKey[]): void => {
    for (const { kind, project, name, priority } of lanes) {
      const queue = buildQueueSuffix({ project, kind, name, priority });
      if (!['domain', 'relay'].includes(kind) || known.has(queue)) continue;
      known.add(queue);
      services.queues.createQueue(queue, { attributes: { FifoQueue: 'true' } });
    }
  };
  const { queues } = ports;
  return {
    ...ports,
    queues: {
      ...queues,
      send: (messages) => {
        made(messages.map(({ queueKey }) => queueKey));
        return queues.send(messages);
      },
      receive: (lanes, options) => {
        made(lanes);
        return queues.receive(lanes, options);
      },
      inspect: (lanes, max) => {
        made(lanes);
        return queues.inspect(lanes, max);
      },
      count: (lanes, options) => {
        made(lanes);
        return queues.count(lanes, options);
      },
    },
  };
};

/** What DynamoDB does with items whose time is over, sooner or later; DynamoDB Local leaves them. */
const removeExpired = async (table: string, now: number): Promise<void> => {
  const { Items: items = [] } = await clients.dynamo.send(
    new ScanCommand({
      TableName: table,
      FilterExpression: '#ttl < :now',
      ExpressionAttributeNames: { '#ttl': 'ttl' },
      ExpressionAttributeValues: { ':now': { N: String(Math.floor(now / 1000) - 30) } },
    }),
  );
  for (const { pk, sk } of items) {
    if (pk && sk) await clients.dynamo.send(new DeleteItemCommand({ TableName: table, Key: { pk, sk } }));
  }
};

/** For so long the bucket keeps what no record owns. */
const UNOWNED_MS = 100 * 86_400_000;

/** What the bucket does by its rules; the local S3 has none. */
const removeUnowned = async (): Promise<void> => {
  const s3 = await clients.s3();
  const { Contents: objects = [] } = await s3.send(new ListObjectsV2Command({ Bucket: BUCKET }));
  for (const { Key: key } of objects) {
    const { TagSet: tags = [] } = await s3.send(new GetObjectTaggingCommand({ Bucket: BUCKET, Key: key }));
    const isUnowned = tags.some(
      ({ Key: name, Value: value }) => name === UNRETAINED_TAG.key && value === UNRETAINED_TAG.value,
    );
    if (isUnowned) await s3.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: key }));
  }
};

const fireAll = async (engine: AwsEngine, url: string, due: EngineHandlers['onTimer']): Promise<void> => {
  const { Messages: messages = [] } = await clients.sqs.send(
    new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10 }),
  );
  if (messages.length === 0) return;
  await Promise.all(
    messages.map(async ({ Body: body = '', ReceiptHandle: receipt }) => {
      await engine.timers.fire(JSON.parse(body), due).catch(() => {});
      await clients.sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: receipt }));
    }),
  );
  await fireAll(engine, url, due);
};

engineContract('the AWS engine', open);
