import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  ListStreamsCommand,
} from '@aws-sdk/client-dynamodb-streams';
import type { AwsEngine } from '../../shared/engines/aws/aws-engine.ts';
import type { RecordChange } from '../../shared/ports/records.ts';

type Key = string;

/**
 * Reads a table's stream as an event source mapping does: in order for each record, again what failed, without a look at what
 * was acknowledged before. What was not is kept in `pending`, which outlives a crash as the stream itself does.
 */
export class StreamFollower {
  readonly #streams: DynamoDBStreamsClient;
  readonly #table: string;
  readonly #iterators = new Map<string, string | undefined>();
  readonly #watched: readonly string[];
  /** The changes of each record that nobody has acknowledged. */
  readonly pending = new Map<Key, RecordChange[]>();

  constructor(connection: ConstructorParameters<typeof DynamoDBStreamsClient>[0], table: string, ...watched: string[]) {
    this.#streams = new DynamoDBStreamsClient(connection ?? {});
    this.#table = table;
    this.#watched = watched;
  }

  /** Fetches what is new, and hands over what is pending. */
  async step(engine: AwsEngine, follow: (changes: RecordChange[]) => Promise<void>): Promise<void> {
    await this.#fetch(engine);
    const groups = [...this.pending];
    await Promise.all(
      groups.map(async ([key, changes]) => {
        try {
          await follow(changes.slice(0, 1));
          this.#acknowledge(key);
        } catch {
          // It stays where it is, and comes again with the next step.
        }
      }),
    );
  }

  #acknowledge(key: Key): void {
    const rest = this.pending.get(key)?.slice(1) ?? [];
    if (rest.length > 0) this.pending.set(key, rest);
    else this.pending.delete(key);
  }

  async #fetch(engine: AwsEngine): Promise<void> {
    for (const change of await this.fetched(engine)) {
      const key = JSON.stringify(keyOf(change));
      this.pending.set(key, [...(this.pending.get(key) ?? []), change]);
    }
  }

  /** What is new, once and in its order, for whoever looks after it himself. */
  async fetched(engine: AwsEngine): Promise<RecordChange[]> {
    const changes: RecordChange[] = [];
    for (const [shard, iterator] of await this.#shards()) {
      if (!iterator) continue;
      const { Records: records = [], NextShardIterator: next } = await this.#streams.send(
        new GetRecordsCommand({ ShardIterator: iterator }),
      );
      this.#iterators.set(shard, next);
      for (const { dynamodb } of records) {
        if (!dynamodb || !this.#watched.includes(dynamodb.Keys?.sk?.S ?? '')) continue;
        changes.push(...engine.decodeStreamRecord(asLambda(dynamodb)));
      }
    }
    return changes;
  }

  async #shards(): Promise<Map<string, string | undefined>> {
    // The stream of a small table has one shard for hours.
    if (this.#iterators.size > 0) return this.#iterators;
    const { Streams: [stream] = [] } = await this.#streams.send(new ListStreamsCommand({ TableName: this.#table }));
    const { StreamDescription: described } = await this.#streams.send(
      new DescribeStreamCommand({ StreamArn: stream?.StreamArn }),
    );
    for (const { ShardId: shard = '' } of described?.Shards ?? []) {
      if (this.#iterators.has(shard)) continue;
      const place = { StreamArn: stream?.StreamArn, ShardId: shard, ShardIteratorType: 'TRIM_HORIZON' as const };
      const { ShardIterator: iterator } = await this.#streams.send(new GetShardIteratorCommand(place));
      this.#iterators.set(shard, iterator);
    }
    return this.#iterators;
  }

  close(): void {
    this.#streams.destroy();
  }
}

const keyOf = ({ before, after }: RecordChange) => {
  const { pk, sk } = after ?? before ?? {};
  return { pk, sk };
};

interface Images {
  OldImage?: object;
  NewImage?: object;
}

/** As a function is given it: JSON, with binary values in base64. */
const asLambda = ({
  OldImage,
  NewImage,
}: Images): { OldImage?: Record<string, unknown>; NewImage?: Record<string, unknown> } =>
  JSON.parse(
    JSON.stringify({ OldImage, NewImage }, (_, value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
    ),
  );
