import { SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import type { Json } from '../../kernel/json/json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { QueueKey, QueueMessage } from '../../ports/queues.ts';
import { mapAwsErrors } from './aws-errors.ts';
import { splitIntoChunks, waitBeforeRetry } from './backoff.ts';

export interface SqsQueues {
  sqs: SQSClient;
  urlPrefix: string;
  toSuffix: (queueKey: QueueKey) => string;
  /** False if the domain was removed while tasks for it remain. */
  hasQueue: (queueKey: QueueKey) => boolean;
  /** The task will expire unclaimed. */
  onUndeliverable: (message: QueueMessage) => void;
  clock: Clock;
  newId: () => string;
}

export const isSqsQueue = ({ kind }: QueueKey): boolean => kind === 'domain' || kind === 'relay';

export const partitionByBackend = <T extends { queueKey: QueueKey }>(messages: T[]): [queued: T[], listed: T[]] => {
  const { queued = [], listed = [] } = Object.groupBy(messages, ({ queueKey }) =>
    isSqsQueue(queueKey) ? 'queued' : 'listed',
  );
  return [queued, listed];
};

export const getQueueUrl = ({ urlPrefix, toSuffix }: SqsQueues, queueKey: QueueKey): string =>
  urlPrefix + toSuffix(queueKey);

export interface QueueMessageBody {
  project: string;
  group: string;
  /** Absent from earlier code. */
  at?: number;
  body: Json;
}

/** SQS takes ten messages and 1 MiB per batch. */
export const MAX_BATCH_ENTRIES = 10;
const MAX_BATCH_BYTES = 1024 * 1024;

export const sendToSqs = async (queueKeys: SqsQueues, messages: QueueMessage[]): Promise<void> => {
  for (const lost of messages.filter(({ queueKey }) => !queueKeys.hasQueue(queueKey))) queueKeys.onUndeliverable(lost);
  const deliverable = messages.filter(({ queueKey }) => queueKeys.hasQueue(queueKey));
  for (const round of splitIntoRounds(deliverable)) {
    const byQueue = Map.groupBy(round, ({ queueKey }) => getQueueUrl(queueKeys, queueKey));
    const sendBatch = async (url: string, batch: QueueMessage[]) => {
      const { Failed: failed } = await queueKeys.sqs.send(
        new SendMessageBatchCommand({ QueueUrl: url, Entries: batch.map(toSqsEntry) }),
      );
      return failed;
    };
    await sendInBatches(queueKeys, byQueue, sendBatch, (message) => encodeBody(message).length);
  }
};

/** One message per group and round: concurrent batches may fail in part, which would break the order. */
const splitIntoRounds = (messages: QueueMessage[]): QueueMessage[][] => {
  const rounds: QueueMessage[][] = [];
  const sent = new Map<string, number>();
  for (const message of messages) {
    const { group } = message;
    const round = sent.get(group) ?? 0;
    sent.set(group, round + 1);
    rounds[round] ??= [];
    rounds[round].push(message);
  }
  return rounds;
};

/** SQS allows 128 characters of a limited set; task ids may have others. */
export const toSqsEntry = (message: QueueMessage, index: number) => ({
  Id: String(index),
  MessageGroupId: computeFingerprint(message.group),
  MessageDeduplicationId: computeFingerprint(message.dedupId),
  MessageBody: encodeBody(message),
});

const encodeBody = ({ queueKey: { project }, group, at, body }: QueueMessage): string =>
  encodeAscii({ project, group, at, body });

/** SQS rejects most control characters, and local servers reject more. */
const encodeAscii = (message: QueueMessageBody): string =>
  JSON.stringify(message).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

export interface FailedBatchEntry {
  Id: string | undefined;
  SenderFault: boolean | undefined;
  Code: string | undefined;
  Message?: string | undefined;
}

/** A batch may fail in part. */
export const sendInBatches = async <T>(
  { clock }: { clock: Clock },
  byQueue: Map<string, T[]>,
  send: (url: string, batch: T[]) => Promise<FailedBatchEntry[] | undefined>,
  bytesOf?: (one: T) => number,
): Promise<void> => {
  const batches = [...byQueue].flatMap(([url, all]) =>
    splitIntoChunks(all, MAX_BATCH_ENTRIES, MAX_BATCH_BYTES, bytesOf).map((batch) => ({ url, batch })),
  );
  await Promise.all(
    batches.map(async ({ url, batch }) => {
      let left = batch;
      for (let attempt = 0; left.length > 0; attempt++) {
        if (attempt > 0) await waitBeforeRetry(clock, attempt, 'SQS');
        left = await sendAndPickFailed(left, () => send(url, left));
      }
    }),
  );
};

const sendAndPickFailed = async <T>(batch: T[], send: () => Promise<FailedBatchEntry[] | undefined>): Promise<T[]> => {
  const failed = (await mapAwsErrors(send())) ?? [];
  const fault = failed.find(({ SenderFault: isOurs }) => isOurs);
  if (fault) throw new Error(`SQS refuses a message: ${fault.Code} ${fault.Message}`);
  return failed.flatMap(({ Id: id }) => batch[Number(id)] ?? []);
};
