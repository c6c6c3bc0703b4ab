import { GlobalTable, Table } from '../kinds/storage.ts';
import type { Plan } from '../plan.ts';
import type { DynamoDbLocal } from './dynamodb-local.ts';
import { CallFailed } from './json-call.ts';

const api = (operation: string): string => `DynamoDB_20120810.${operation}`;

export const hasTables = (plan: Plan): boolean => plan.all(Table).length + plan.all(GlobalTable).length > 0;

/** Makes the tables of the plan that are not there yet. */
export const makeTables = async (plan: Plan, dynamodb: DynamoDbLocal): Promise<void> => {
  for (const { name, properties } of [...plan.all(Table), ...plan.all(GlobalTable)]) {
    const { StreamSpecification: stream, TimeToLiveSpecification: ttl, GlobalSecondaryIndexes: indexes } = properties;
    const isNew = await unlessThere(
      dynamodb.call(api('CreateTable'), {
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
      await dynamodb.call(api('UpdateTimeToLive'), { TableName: name, TimeToLiveSpecification: ttl });
    }
  }
};

const unlessThere = async (creation: Promise<unknown>): Promise<boolean> => {
  try {
    await creation;
    return true;
  } catch (error) {
    if (error instanceof CallFailed && error.code === 'ResourceInUseException') return false;
    throw error;
  }
};
