import type { ResourceGraph } from '../graph.ts';
import { DynamoTableType, GlobalTable } from '../resources/storage.ts';
import { CallFailedError } from './call-json.ts';
import type { DynamoDbLocal } from './dynamodb-local.ts';

const callDynamo = (operation: string): string => `DynamoDB_20120810.${operation}`;

export const hasTables = (plan: ResourceGraph): boolean =>
  plan.listResources(DynamoTableType).length + plan.listResources(GlobalTable).length > 0;

export const createTables = async (plan: ResourceGraph, dynamodb: DynamoDbLocal): Promise<void> => {
  for (const { name, properties } of [...plan.listResources(DynamoTableType), ...plan.listResources(GlobalTable)]) {
    const { StreamSpecification: stream, TimeToLiveSpecification: ttl, GlobalSecondaryIndexes: indexes } = properties;
    const isNew = await ignoreExisting(
      dynamodb.call(callDynamo('CreateTable'), {
        TableName: name,
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: properties.KeySchema,
        AttributeDefinitions: properties.AttributeDefinitions,
        ...(indexes.length > 0 && {
          GlobalSecondaryIndexes: indexes.map(({ IndexName, KeySchema, Projection }) => ({
            IndexName,
            KeySchema,
            Projection,
          })),
        }),
        ...(stream && {
          StreamSpecification: { StreamEnabled: true, StreamViewType: stream.StreamViewType },
        }),
      }),
    );
    if (isNew && ttl) {
      await dynamodb.call(callDynamo('UpdateTimeToLive'), { TableName: name, TimeToLiveSpecification: ttl });
    }
  }
};

const ignoreExisting = async (creation: Promise<unknown>): Promise<boolean> => {
  try {
    await creation;
    return true;
  } catch (error) {
    if (error instanceof CallFailedError && error.code === 'ResourceInUseException') return false;
    throw error;
  }
};
