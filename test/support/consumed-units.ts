import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { z } from 'zod';

const Consumed = z.object({ CapacityUnits: z.number() });
const Answer = z.object({ ConsumedCapacity: z.union([Consumed, z.array(Consumed)]).optional() });

const isWrite = (command: string | undefined): boolean => /Put|Update|Delete|Write/.test(command ?? '');

/** What the writes of a client have taken, as DynamoDB tells it. Those of transactions count twice. */
export const consumedWriteUnits = (dynamo: DynamoDBClient): { count(): number } => {
  let units = 0;
  dynamo.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (!isWrite(commandName)) return next(args);
        const answer = await next({ ...args, input: { ...args.input, ReturnConsumedCapacity: 'TOTAL' } });
        const { ConsumedCapacity: consumed = [] } = Answer.parse(answer.output);
        for (const { CapacityUnits: own } of Array.isArray(consumed) ? consumed : [consumed]) units += own;
        return answer;
      },
    { step: 'initialize' },
  );
  return { count: () => units };
};
