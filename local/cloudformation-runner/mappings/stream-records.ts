import { z } from 'zod';

const TableStreamRecord = z
  .object({
    dynamodb: z
      .object({
        ApproximateCreationDateTime: z.number(),
        Keys: z.record(z.string(), z.record(z.string(), z.unknown())),
        SequenceNumber: z.string(),
      })
      .loose(),
  })
  .loose();
export type TableStreamRecord = z.output<typeof TableStreamRecord>;

const Description = z.object({
  StreamDescription: z.object({
    Shards: z.array(
      z.object({
        ShardId: z.string(),
        ParentShardId: z.string().optional(),
        SequenceNumberRange: z.object({ EndingSequenceNumber: z.string().optional() }),
      }),
    ),
    LastEvaluatedShardId: z.string().optional(),
  }),
});
export type Shard = z.output<typeof Description>['StreamDescription']['Shards'][number];

const Iterator = z.object({ ShardIterator: z.string() });
const Page = z.object({ Records: z.array(TableStreamRecord), NextShardIterator: z.string().nullish() });
const OfTable = z.object({ Table: z.object({ LatestStreamArn: z.string() }) });

export type Call = (target: string, body: unknown, signal?: AbortSignal) => Promise<unknown>;

export class TableStream {
  readonly #call: Call;
  readonly #table: string;
  #arn: string | undefined;

  constructor(call: Call, table: string) {
    this.#call = call;
    this.#table = table;
  }

  async #getStreamArn(): Promise<string> {
    this.#arn ??= OfTable.parse(
      await this.#call('DynamoDB_20120810.DescribeTable', { TableName: this.#table }),
    ).Table.LatestStreamArn;
    return this.#arn;
  }

  /** Oldest first. DynamoDB Local has one open shard and closes it after some hours. */
  async listShards(): Promise<Shard[]> {
    const StreamArn = await this.#getStreamArn();
    const answer = await this.#call('DynamoDBStreams_20120810.DescribeStream', { StreamArn });
    return Description.parse(answer).StreamDescription.Shards;
  }

  async getIterator(shardId: string, from: { after: string } | 'TRIM_HORIZON' | 'LATEST'): Promise<string> {
    const position =
      typeof from === 'string'
        ? { ShardIteratorType: from }
        : { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: from.after };
    const body = { StreamArn: await this.#getStreamArn(), ShardId: shardId, ...position };
    return Iterator.parse(await this.#call('DynamoDBStreams_20120810.GetShardIterator', body)).ShardIterator;
  }

  async getRecords(iterator: string): Promise<{ getRecords: TableStreamRecord[]; next: string | undefined }> {
    const answer = await this.#call('DynamoDBStreams_20120810.GetRecords', { ShardIterator: iterator });
    const { Records, NextShardIterator } = Page.parse(answer);
    return { getRecords: Records.map(nameEmptyMaps), next: NextShardIterator ?? undefined };
  }
}

const IMAGES = ['NewImage', 'OldImage'] as const;

/** DynamoDB Local leaves an empty map in its stream without a type. DynamoDB does not. */
const nameEmptyMaps = (record: TableStreamRecord): TableStreamRecord => {
  const images = IMAGES.filter((image) => image in record.dynamodb).map((image) => [
    image,
    mapValues(record.dynamodb[image], nameEmptyMap),
  ]);
  return { ...record, dynamodb: { ...record.dynamodb, ...Object.fromEntries(images) } };
};

const nameEmptyMap = (value: unknown): unknown => {
  const { M: map, L: list } = Object(value);
  if (map) return { M: mapValues(map, nameEmptyMap) };
  if (Array.isArray(list)) return { L: list.map(nameEmptyMap) };
  return Object.keys(Object(value)).length === 0 ? { M: {} } : value;
};

const mapValues = (fields: unknown, map: (value: unknown) => unknown): object =>
  Object.fromEntries(Object.entries(Object(fields)).map(([name, value]) => [name, map(value)]));
