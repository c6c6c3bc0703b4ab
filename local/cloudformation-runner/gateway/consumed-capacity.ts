import { z } from 'zod';
import { isWrite } from './dynamodb-calls.ts';
import { computeItemBytes, computeWriteUnits } from './item-size.ts';

const Units = z.object({ CapacityUnits: z.number() });
const Consumed = z.object({
  TableName: z.string(),
  CapacityUnits: z.number(),
  Table: Units.optional(),
  GlobalSecondaryIndexes: z.record(z.string(), Units).default({}),
});
const Answer = z.object({ ConsumedCapacity: z.union([Consumed.transform((one) => [one]), z.array(Consumed)]) });

interface Capacity {
  resource: string;
  kind: 'read' | 'write';
  units: number;
}

export const computeConsumedCapacity = (operation: string, request: unknown, answer: unknown): Capacity[] => {
  const kind = isWrite(operation) ? 'write' : 'read';
  const parsed = Answer.safeParse(answer);
  if (!parsed.success) return kind === 'write' ? computeRejectedWrite(request, answer) : [];
  return parsed.data.ConsumedCapacity.flatMap(({ TableName, CapacityUnits, Table, GlobalSecondaryIndexes }) => [
    { resource: TableName, kind, units: Table?.CapacityUnits ?? CapacityUnits } as const,
    ...Object.entries(GlobalSecondaryIndexes).map(
      ([index, { CapacityUnits: units }]) => ({ resource: `${TableName}/index/${index}`, kind, units }) as const,
    ),
  ]);
};

const Refused = z.object({ __type: z.string().endsWith('#ConditionalCheckFailedException'), Item: z.unknown() });
const Cancelled = z.object({
  __type: z.string().endsWith('#TransactionCanceledException'),
  CancellationReasons: z.array(z.object({ Item: z.unknown() })),
});
const TableOf = z.object({ TableName: z.string() });
const Parts = z.object({ TransactItems: z.array(z.record(z.string(), TableOf)) });

/**
 * AWS bills a rejected write, but DynamoDB Local reports none. Computed from the returned item: at least one unit,
 * doubled in a transaction.
 */
const computeRejectedWrite = (request: unknown, answer: unknown): Capacity[] => {
  const table = TableOf.safeParse(request).data?.TableName;
  const refused = Refused.safeParse(answer);
  if (refused.success && table !== undefined) {
    return [{ resource: table, kind: 'write', units: computeWriteUnits(computeItemBytes(refused.data.Item)) }];
  }
  const parts = Parts.safeParse(request).data?.TransactItems;
  const cancelled = Cancelled.safeParse(answer);
  if (!cancelled.success || !parts) return [];
  return cancelled.data.CancellationReasons.map(({ Item }, index) => ({
    resource: Object.values(parts[index] ?? {})[0]?.TableName ?? '',
    kind: 'write',
    units: 2 * computeWriteUnits(computeItemBytes(Item)),
  }));
};
