import { setTimeout as pause } from 'node:timers/promises';
import type { LambdaFunction } from '../lambda/lambda-function.ts';
import type { Random } from '../random.ts';
import type { FailedBatch } from './failure-record.ts';
import { type MappingProperties, parseFilter, type RunningMapping } from './mapping.ts';
import { createShardLanes } from './shard-lanes.ts';
import { ShardProgress } from './shard-progress.ts';
import type { StreamPositions } from './stream-positions.ts';
import type { TableStream, TableStreamRecord } from './stream-records.ts';

interface StreamMappingOptions {
  mappingId: string;
  properties: MappingProperties;
  streamArn: string;
  region: string;
  target: LambdaFunction;
  stream: TableStream;
  partitionKey: string;
  random: Random;
  positions: StreamPositions;
  onWrite(listener: () => void): void;
  storeFailure(batch: FailedBatch): Promise<void>;
  onError(line: string): void;
}

/** Lambda's interval; a write through the gateway wakes the reader at once. */
const ASK_EVERY_MS = 250;
const AFTER_ERROR_MS = 1000;
/** A shard that is held up must not hold up the others soon, which DynamoDB Local has in one. */
const MOST_OPEN = 10_000;

export const runStreamMapping = (options: StreamMappingOptions): RunningMapping => {
  const stopping = new AbortController();
  const wakeSignal = new WakeSignal();
  options.onWrite(() => wakeSignal.notify());
  const running = readShards(options, wakeSignal, stopping.signal);
  return {
    stop: async () => {
      stopping.abort();
      wakeSignal.notify();
      await running;
    },
  };
};

const readShards = async (
  options: StreamMappingOptions,
  wakeSignal: WakeSignal,
  signal: AbortSignal,
): Promise<void> => {
  const { mappingId, stream, positions, target } = options;
  while (!signal.aborted) {
    try {
      const shards = await stream.listShards();
      const shard = shards.find(({ ShardId }) => positions.getPosition(mappingId, ShardId) !== 'end');
      if (shard) await readShard(options, shard.ShardId, wakeSignal, signal);
      else await wakeSignal.wait(ASK_EVERY_MS);
    } catch (error) {
      if (signal.aborted) return;
      options.onError(`reading the stream for ${target.name} failed: ${String(error)}`);
      await pause(AFTER_ERROR_MS, undefined, { signal }).catch(() => {});
    }
  }
};

const readShard = async (
  options: StreamMappingOptions,
  shardId: string,
  wakeSignal: WakeSignal,
  signal: AbortSignal,
) => {
  const { mappingId, stream, positions, properties } = options;
  const progress = new ShardProgress((after) => positions.setPosition(mappingId, shardId, { after }));
  const lanes = createShardLanes(options, shardId, progress, signal);
  const passes = parseFilter(properties);
  let iterator: string | undefined = await resolveStartPosition(options, shardId);
  // After a restart, DynamoDB Local may number records below the start of the shard. An iterator skips them until the
  // first record has arrived.
  let isUnread = properties.StartingPosition === 'TRIM_HORIZON';
  while (iterator !== undefined && !signal.aborted) {
    const { getRecords, next }: Awaited<ReturnType<TableStream['getRecords']>> = await stream.getRecords(iterator);
    iterator = next;
    if (getRecords.length === 0) {
      if (next === undefined) continue;
      await wakeSignal.wait(ASK_EVERY_MS);
      if (isUnread) iterator = await resolveStartPosition(options, shardId);
      continue;
    }
    isUnread = false;
    progress.markStarted(getRecords.map(getSequenceNumber));
    progress.markDone(getRecords.filter((record) => !passes(record)).map(getSequenceNumber));
    for (const record of getRecords.filter(passes)) lanes.take(toFunctionRecord(record, options));
    await progress.hasFewerThan(MOST_OPEN, signal);
  }
  await lanes.finished();
  if (!signal.aborted) positions.setPosition(mappingId, shardId, 'end');
};

const resolveStartPosition = async (
  { mappingId, stream, positions, properties }: StreamMappingOptions,
  shardId: string,
) => {
  const position = positions.getPosition(mappingId, shardId);
  if (position === undefined) {
    // Stored even if nothing is written before the next start.
    positions.setPosition(mappingId, shardId, 'start');
    return stream.getIterator(shardId, properties.StartingPosition ?? 'LATEST');
  }
  if (typeof position === 'string') return stream.getIterator(shardId, 'TRIM_HORIZON');
  // After a day, the record at this position is gone.
  return stream.getIterator(shardId, position).catch(() => stream.getIterator(shardId, 'TRIM_HORIZON'));
};

const getSequenceNumber = ({ dynamodb }: TableStreamRecord): string => dynamodb.SequenceNumber;

const toFunctionRecord = (
  record: TableStreamRecord,
  { streamArn, region }: StreamMappingOptions,
): TableStreamRecord => ({
  ...record,
  awsRegion: region,
  eventSourceARN: streamArn,
});

/** A wake-up without a waiter is remembered. */
class WakeSignal {
  #isRung = false;
  #wake: () => void = () => {};

  notify(): void {
    this.#isRung = true;
    this.#wake();
  }

  async wait(atMostMs: number): Promise<void> {
    if (!this.#isRung) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, atMostMs);
      this.#wake = resolve;
      await promise;
      clearTimeout(timer);
    }
    this.#isRung = false;
  }
}
