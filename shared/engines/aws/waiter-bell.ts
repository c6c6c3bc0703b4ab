import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { splitIntoChunks } from './backoff.ts';
import { coalesce } from './coalesce.ts';
import type { Ring } from './ring-on-writes.ts';

const MAX_KEYS = 1000;
/** A waiter that hears nothing looks by itself, so nobody waits longer for the bell. */
const LONGEST_MS = 1000;

export const createBell = (sqs: SQSClient, url: string): Ring => {
  const send = coalesce(async (keys: string[]) => {
    for (const some of splitIntoChunks([...new Set(keys)], MAX_KEYS, Number.POSITIVE_INFINITY)) {
      const message = new SendMessageCommand({ QueueUrl: url, MessageBody: JSON.stringify(some) });
      await sqs.send(message, { abortSignal: AbortSignal.timeout(LONGEST_MS) });
    }
  });
  return (keys) => send(keys).catch(() => {});
};
