import { setTimeout as pause } from 'node:timers/promises';
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  ListStreamsCommand,
} from '@aws-sdk/client-dynamodb-streams';
import { CHANGE_FEED_KINDS } from '../../shared/effects/record-definitions.ts';
import { listQueues } from '../../shared/ports/queue-names.ts';
import { type AwsServices, startAwsServices } from '../support/aws-services.ts';
import { type Fate, faultyProxy } from '../support/faulty-proxy.ts';
import type { Random } from '../support/hostile-ports.ts';
import { atEndOf, type Owner } from '../support/server-process.ts';
import type { ChaosOptions } from './options.ts';
import { BUCKET, chaosConfig, type Job, TABLE } from './process/job.ts';
import { Instance, newJob, SystemUnderChaos } from './system.ts';

const INSTANCES = 2;
const FETCH_MS = 20;
const SWEEP_MS = 500;
const DUE_MS = 50;
const BATCH = 25;
/** An old batch comes once more. */
const AGAIN = 0.1;
const KEPT = 30;

/** The filter of the event source. */
const FOLLOWED: ReadonlySet<string> = new Set(CHANGE_FEED_KINDS);

const LOST: Fate = 'lose the answer';
const THROTTLED: Fate = { status: 400, error: 'ThrottlingException' };
const UNAVAILABLE: Fate = { status: 503, error: 'ServiceUnavailable' };

/** DynamoDB Local, an SQS and S3 server, and instances of the functions; this process is the stream and the schedule. */
export const startAwsSystem = async (
  owner: Owner,
  { seed, faults }: Pick<ChaosOptions, 'seed' | 'faults'>,
  random: Random,
): Promise<SystemUnderChaos> => {
  const services = await startAwsServices();
  atEndOf(owner, () => services.stop());
  services.queues.createBucket(BUCKET);
  await services.createTable(TABLE);
  const { projects } = chaosConfig('aws');
  for (const { suffix } of listQueues(projects))
    services.queues.createQueue(suffix, { attributes: { FifoQueue: 'true' } });
  services.queues.createQueue('delay');
  let isCalm = false;
  const fateOf = (): Fate => {
    const fate = isCalm || !faults.includes('storage') ? 1 : random();
    if (fate < 0.01) return LOST;
    if (fate < 0.02) return THROTTLED;
    return fate < 0.025 ? UNAVAILABLE : 'pass';
  };
  const dynamo = await faultyProxy(services.dynamo.endpoint, fateOf);
  const sqs = await faultyProxy(services.faux.endpoint, fateOf);
  atEndOf(owner, () => Promise.all([dynamo.close(), sqs.close()]));
  const aws: NonNullable<Job['aws']> = {
    dynamo: dynamo.endpoint,
    sqs: sqs.endpoint,
    s3: services.faux.endpoint,
    region: services.dynamo.region,
    delayQueueUrl: `${sqs.endpoint}/000000000000/delay`,
  };
  const troubles: string[] = [];
  const instances: Instance[] = [];
  for (let number = 0; number < INSTANCES; number++)
    instances.push(
      new Instance(owner, await newJob({ engine: 'aws', seed: seed + 1000 * number, faults, aws }), troubles),
    );
  await Promise.all(instances.map((instance) => instance.start()));
  const system = new AwsSystem(instances, troubles, seed, () => {
    isCalm = true;
  });
  const running = new AbortController();
  const isHostile = (): boolean => !isCalm && faults.includes('changes');
  const loops = [
    follow(services, system, () => isHostile() && random() < AGAIN, running.signal),
    repeat(SWEEP_MS, () => system.anyone().order({ do: 'sweep' }), running.signal),
    repeat(DUE_MS, () => system.anyone().order({ do: 'due' }), running.signal),
  ];
  atEndOf(owner, async () => {
    running.abort();
    await Promise.all(loops);
  });
  return system;
};

class AwsSystem extends SystemUnderChaos {
  readonly #onCalm: () => void;
  constructor(instances: Instance[], troubles: string[], seed: number, onCalm: () => void) {
    super(instances, troubles, seed);
    this.#onCalm = onCalm;
  }

  anyone(): Instance {
    const instance = this.instances[Math.floor(this.random() * this.instances.length)];
    if (!instance) throw new Error('there is nobody');
    return instance;
  }

  override async calm(): Promise<void> {
    this.#onCalm();
    await super.calm();
  }
}

const repeat = async (ms: number, act: () => Promise<unknown>, signal: AbortSignal): Promise<void> => {
  for (; !signal.aborted; await pause(ms)) await act().catch(() => {});
};

/** Each batch until somebody has carried it out, in order; what was carried out may come once more. */
const follow = async (
  { dynamo }: AwsServices,
  system: AwsSystem,
  comesAgain: () => boolean,
  signal: AbortSignal,
): Promise<void> => {
  const streams = new DynamoDBStreamsClient(dynamo);
  const iterators = await openShards(streams);
  const past: object[][] = [];
  const deliver = async (batch: object[]): Promise<void> => {
    while (!signal.aborted) {
      try {
        await system.anyone().order({ do: 'dispatch', records: batch });
        return;
      } catch {
        await pause(FETCH_MS);
      }
    }
  };
  for (; !signal.aborted; await pause(FETCH_MS)) {
    for (const [shard, ShardIterator] of iterators) {
      const page = await streams.send(new GetRecordsCommand({ ShardIterator }));
      if (page.NextShardIterator) iterators.set(shard, page.NextShardIterator);
      const records = (page.Records ?? []).flatMap(({ dynamodb }) =>
        dynamodb && FOLLOWED.has(dynamodb.Keys?.sk?.S ?? '') ? [asLambda(dynamodb)] : [],
      );
      for (let at = 0; at < records.length; at += BATCH) {
        const batch = records.slice(at, at + BATCH);
        await deliver(batch);
        past.push(batch);
        past.splice(0, past.length - KEPT);
        const old = past[Math.floor(system.random() * past.length)];
        if (old && comesAgain()) await deliver(old);
      }
    }
  }
  streams.destroy();
};

const openShards = async (streams: DynamoDBStreamsClient): Promise<Map<string, string>> => {
  const { Streams: [stream] = [] } = await streams.send(new ListStreamsCommand({ TableName: TABLE }));
  const StreamArn = stream?.StreamArn;
  const { StreamDescription: described } = await streams.send(new DescribeStreamCommand({ StreamArn }));
  const iterators = new Map<string, string>();
  for (const { ShardId } of described?.Shards ?? []) {
    const place = { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' as const };
    const { ShardIterator = '' } = await streams.send(new GetShardIteratorCommand(place));
    iterators.set(ShardId ?? '', ShardIterator);
  }
  return iterators;
};

/** As a function is given it: JSON, with binary values in base64. */
const asLambda = ({ OldImage, NewImage }: { OldImage?: object; NewImage?: object }): object =>
  JSON.parse(
    JSON.stringify({ OldImage, NewImage }, (_, value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
    ),
  );
