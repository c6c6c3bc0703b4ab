import { CreateTableCommand, DynamoDBClient, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import { startFauxqs } from 'fauxqs';
import {
  bindToLoopback,
  createForwarder,
  serveGateway,
  startDynamoDbLocal,
  supportObjectTags,
  supportReceiveAttempts,
} from '../../local/cloudformation-runner/index.ts';
import { LISTED_FIELDS } from '../../shared/effects/record-definitions.ts';
import { SHORT_LIVED_JAVA } from './short-lived-java.ts';

const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };
const REGION = 'us-east-1';

/** DynamoDB Local and an SQS and S3 server, for one test file. */
export interface AwsServices {
  dynamo: { endpoint: string; region: string; credentials: typeof CREDENTIALS };
  /** SQS and S3. */
  faux: { endpoint: string; region: string; credentials: typeof CREDENTIALS };
  queues: Awaited<ReturnType<typeof startFauxqs>>;
  databasePid: number;
  /** A table as the stack makes it. */
  createTable(name: string): Promise<void>;
  stop(): Promise<void>;
}

export const startAwsServices = async (): Promise<AwsServices> => {
  Object.assign(process.env, SHORT_LIVED_JAVA);
  // First: what fails must leave nothing behind that keeps the file from ending.
  const database = await startDynamoDbLocal(undefined, REGION);
  const dynamo = { endpoint: `http://127.0.0.1:${database.port}`, region: REGION, credentials: CREDENTIALS };
  const client = new DynamoDBClient({ ...dynamo, maxAttempts: 1 });
  const queues = await bindToLoopback(() => startFauxqs({ port: 0, logger: false }));
  const { forward, close } = createForwarder(queues.port);
  const front = await serveGateway(supportReceiveAttempts(supportObjectTags(forward)));
  return {
    dynamo,
    faux: { endpoint: front.address, region: REGION, credentials: CREDENTIALS },
    queues,
    databasePid: database.pid,
    createTable: (name) => createTable(client, name),
    stop: async () => {
      client.destroy();
      await front.close();
      close();
      await Promise.all([database.stop(), queues.stop()]);
    },
  };
};

const createTable = async (client: DynamoDBClient, name: string): Promise<void> => {
  const keys = {
    byList: ['byListPk', 'byListSk'],
    byHolder: ['byHolderPk', 'byHolderSk'],
    byCreation: ['lp', 'ls'],
    due: ['dueShard', 'due'],
  } as const;
  const schema = (hash: string, range: string) => [
    { AttributeName: hash, KeyType: 'HASH' as const },
    { AttributeName: range, KeyType: 'RANGE' as const },
  ];
  const attributes = ['pk', 'sk', ...Object.values(keys).flat()];
  await client.send(
    new CreateTableCommand({
      TableName: name,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: schema('pk', 'sk'),
      AttributeDefinitions: attributes.map((attribute) => ({
        AttributeName: attribute,
        AttributeType: attribute === 'due' ? 'N' : 'S',
      })),
      GlobalSecondaryIndexes: Object.entries(keys).map(([index, [hash, range]]) => ({
        IndexName: index,
        KeySchema: schema(hash, range),
        Projection:
          index === 'byCreation'
            ? { ProjectionType: 'INCLUDE', NonKeyAttributes: [...LISTED_FIELDS] }
            : { ProjectionType: 'KEYS_ONLY' },
      })),
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
    }),
  );
  await client.send(
    new UpdateTimeToLiveCommand({
      TableName: name,
      TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
    }),
  );
};
