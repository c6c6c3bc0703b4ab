import type { Reading } from '../../local/cloudformation-runner/index.ts';

/** What a call waits inside a region, in milliseconds: round figures above the usual medians. The bench cannot measure them. */
const LATENCY_MS: Record<string, number> = {
  'dynamodb GetItem': 4,
  'dynamodb BatchGetItem': 6,
  'dynamodb Query': 6,
  'dynamodb PutItem': 6,
  'dynamodb UpdateItem': 6,
  'dynamodb DeleteItem': 6,
  'dynamodb TransactWriteItems': 15,
  'sqs SendMessage': 12,
  'sqs SendMessageBatch': 12,
  'sqs ReceiveMessage': 15,
  'sqs DeleteMessageBatch': 12,
  'sqs ChangeMessageVisibilityBatch': 12,
  'events PutEvents': 25,
};

/** What Lambda bills of the waits, as if the calls of an invocation came one after another. */
export const gbSecondsOfWaiting = ({ calls, invocations }: Reading): number =>
  invocations.reduce((sum, { functionName, memoryMb }) => {
    const own = calls.filter(({ caller }) => caller === functionName);
    const ms = own.reduce((waited, { service, operation, calls: count }) => {
      const latency = LATENCY_MS[`${service} ${operation}`];
      if (latency === undefined) throw new Error(`${service}:${operation} has no time in bench/aws/latencies.ts`);
      return waited + latency * count;
    }, 0);
    return sum + (memoryMb / 1024) * (ms / 1000);
  }, 0);
