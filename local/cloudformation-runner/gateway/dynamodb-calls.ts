import { z } from 'zod';
import type { ResourceContext } from '../resource-type.ts';
import type { Need } from './aws-call.ts';

const Tables = z.object({ RequestItems: z.record(z.string(), z.unknown()) });
const OneTable = z.object({ TableName: z.string(), IndexName: z.string().optional() });
const inTable = z.object({ TableName: z.string() });
const Transaction = z.object({ TransactItems: z.array(z.record(z.string(), inTable)) });

const PART_ACTIONS: Record<string, string> = {
  Put: 'PutItem',
  Update: 'UpdateItem',
  Delete: 'DeleteItem',
  ConditionCheck: 'ConditionCheckItem',
  Get: 'GetItem',
};

const ON_ONE_TABLE = ['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'Query', 'Scan', 'DescribeTable'];

export const listDynamoPermissions = (operation: string, body: unknown, site: ResourceContext): Need[] | undefined => {
  const toPermission = (action: string, table: string, index?: string): Need => ({
    action: `dynamodb:${action}`,
    resource: buildTableArn(table, site) + (index === undefined ? '' : `/index/${index}`),
  });
  if (ON_ONE_TABLE.includes(operation)) {
    const { TableName, IndexName } = OneTable.parse(body);
    return [toPermission(operation, TableName, IndexName)];
  }
  if (operation === 'BatchGetItem' || operation === 'BatchWriteItem') {
    return Object.keys(Tables.parse(body).RequestItems).map((table) => toPermission(operation, table));
  }
  if (operation === 'TransactWriteItems' || operation === 'TransactGetItems') {
    return Transaction.parse(body).TransactItems.flatMap((parts) =>
      Object.entries(parts).map(([part, { TableName }]) => toPermission(PART_ACTIONS[part] ?? part, TableName)),
    );
  }
  return undefined;
};

const buildTableArn = (table: string, { region, account }: ResourceContext): string =>
  table.startsWith('arn:') ? table : `arn:aws:dynamodb:${region}:${account}:table/${table}`;

const WRITES = ['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem', 'TransactWriteItems'];
export const isWrite = (operation: string): boolean => WRITES.includes(operation);
