import { setTimeout as pause } from 'node:timers/promises';
import type { LambdaFunction } from '../lambda/lambda-function.ts';
import type { Random } from '../random.ts';
import { deliverBatch } from './deliver-batch.ts';
import type { FailedBatch } from './failure-record.ts';
import type { MappingProperties } from './mapping.ts';
import type { ShardProgress } from './shard-progress.ts';
import type { TableStreamRecord } from './stream-records.ts';

/** A new table on demand has four partitions, and its stream a shard for each. DynamoDB Local has one for all. */
const SHARDS = 4;
/** Lambda reads a shard four times a second, each shard at moments of its own. */
const READ_EVERY_MS = 250;

interface LaneOptions {
  properties: MappingProperties;
  target: LambdaFunction;
  partitionKey: string;
  random: Random;
  storeFailure(batch: FailedBatch): Promise<void>;
}

interface Lane {
  shardId: string;
  readAtMs: number;
  waiting: TableStreamRecord[];
  running: Promise<void>;
  isRunning: boolean;
  isFull: AbortController;
}

export interface ShardLanes {
  take(record: TableStreamRecord): void;
  finished(): Promise<void>;
}

/** Lambda keeps the order of records with the same partition and sort key. Between others, even of one partition, there is none. */
export const createShardLanes = (
  { properties, target, partitionKey, random, storeFailure }: LaneOptions,
  realShardId: string,
  progress: ShardProgress,
  signal: AbortSignal,
): ShardLanes => {
  const { ParallelizationFactor, BatchSize = 100, MaximumBatchingWindowInSeconds: windowSeconds } = properties;
  const shards = Array.from({ length: SHARDS }, (_, shard) => {
    const readAtMs = random() * READ_EVERY_MS;
    return Array.from({ length: ParallelizationFactor }, (): Lane => {
      const shardId = `${realShardId}-${shard}`;
      return {
        shardId,
        readAtMs,
        waiting: [],
        running: Promise.resolve(),
        isRunning: false,
        isFull: new AbortController(),
      };
    });
  });
  const lanes = shards.flat();

  const collect = async (lane: Lane): Promise<void> => {
    const sinceRead = (performance.now() + READ_EVERY_MS - lane.readAtMs) % READ_EVERY_MS;
    await pause(READ_EVERY_MS - sinceRead, undefined, { signal });
    if (lane.waiting.length >= BatchSize) return;
    lane.isFull = new AbortController();
    await pause(windowSeconds * 1000, undefined, { signal: AbortSignal.any([signal, lane.isFull.signal]) }).catch(
      () => {},
    );
  };

  const run = async (lane: Lane): Promise<void> => {
    const delivery = {
      properties,
      target,
      signal,
      storeFailure: (batch: Omit<FailedBatch, 'shardId'>) => storeFailure({ ...batch, shardId: lane.shardId }),
    };
    try {
      await collect(lane);
      while (lane.waiting.length > 0 && !signal.aborted) {
        const batch = lane.waiting.splice(0, BatchSize);
        await deliverBatch(delivery, batch);
        progress.markDone(batch.map(({ dynamodb }) => dynamodb.SequenceNumber));
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      lane.isRunning = false;
    }
  };

  return {
    take: (record) => {
      const { Keys } = record.dynamodb;
      const shard = shards[hash(JSON.stringify(Keys[partitionKey])) % SHARDS] ?? [];
      const lane = shard[hash(JSON.stringify(Keys)) % ParallelizationFactor];
      if (!lane) return;
      lane.waiting.push(record);
      if (lane.waiting.length >= BatchSize) lane.isFull.abort();
      if (lane.isRunning) return;
      lane.isRunning = true;
      lane.running = run(lane);
    },
    finished: async () => {
      await Promise.all(lanes.map(({ running }) => running));
    },
  };
};

const hash = (text: string): number => [...text].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) >>> 0, 7);
