import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import type { Json } from '../../kernel/json/json.ts';
import { type Clock, sleep } from '../../ports/clock.ts';
import type { QueueKey, QueueMessage, ReceivedMessage, ReceiveOptions } from '../../ports/queues.ts';
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

const getQueueUrl = ({ urlPrefix, toSuffix }: SqsQueues, queueKey: QueueKey): string => urlPrefix + toSuffix(queueKey);

interface QueueMessageBody {
  project: string;
  group: string;
  body: Json;
}

/** SQS takes ten messages and 1 MiB per batch. */
const MAX_BATCH_ENTRIES = 10;
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

const encodeBody = ({ queueKey: { project }, group, body }: QueueMessage): string =>
  encodeAscii({ project, group, body });

/** SQS rejects most control characters, and local servers reject more. */
const encodeAscii = (message: QueueMessageBody): string =>
  JSON.stringify(message).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** SQS knows it some seconds late. */
export const countInSqs = async (queues: SqsQueues, queueKey: QueueKey): Promise<number> => {
  const { Attributes: attributes } = await mapAwsErrors(
    queues.sqs.send(
      new GetQueueAttributesCommand({
        QueueUrl: getQueueUrl(queues, queueKey),
        AttributeNames: ['ApproximateNumberOfMessages'],
      }),
    ),
  );
  return Number(attributes?.ApproximateNumberOfMessages ?? 0);
};

const MAX_SKIP_READS = 5;

/** SQS returns whatever is first. Skipped messages stay hidden only while later ones are read. */
export const receiveSkipping = async (
  queueKeys: SqsQueues,
  queueKey: QueueKey,
  { skip, ...options }: SqsReceiveOptions & Pick<ReceiveOptions, 'skip'>,
): Promise<ReceivedMessage[]> => {
  const left: ReceivedMessage[] = [];
  for (let times = 0; ; times++) {
    const isFirst = times === 0;
    const received = await receiveMessages(
      queueKeys,
      queueKey,
      isFirst ? options : { ...options, max: MAX_BATCH_ENTRIES, waitSeconds: 0 },
    );
    const wanted = skip ? received.filter(({ body }) => !skip(body)) : received;
    left.push(...received.filter((message) => !wanted.includes(message)));
    const isOver = wanted.length > 0 || received.length === 0 || times === MAX_SKIP_READS;
    if (!isOver) continue;
    if (left.length > 0) await releaseToSqs(queueKeys, left);
    if (left.length > 0 && wanted.length === 0)
      await sleep(queueKeys.clock, options.waitSeconds * 1000, options.signal).done;
    return wanted;
  }
};

interface SqsReceiveOptions {
  max: number;
  waitSeconds: number;
  visibilityMs: number;
  signal?: AbortSignal;
}

const receiveMessages = async (
  queueKeys: SqsQueues,
  queueKey: QueueKey,
  options: SqsReceiveOptions,
): Promise<ReceivedMessage[]> => {
  const { Messages: messages = [] } = await mapAwsErrors(
    queueKeys.sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: getQueueUrl(queueKeys, queueKey),
        MaxNumberOfMessages: Math.min(options.max, MAX_BATCH_ENTRIES),
        WaitTimeSeconds: options.waitSeconds,
        VisibilityTimeout: Math.ceil(options.visibilityMs / 1000),
        // With the same attempt id, a retried receive returns the same messages.
        ReceiveRequestAttemptId: queueKeys.newId(),
      }),
      { abortSignal: options.signal },
    ),
  );
  return messages.map((message) => decodeMessage(queueKey, message));
};

const decodeMessage = (
  queueKey: QueueKey,
  { Body: text = '{}', ReceiptHandle: receipt = '' }: Message,
): ReceivedMessage => {
  const { group, body }: QueueMessageBody = JSON.parse(text);
  return { queueKey, group, body, receipt };
};

export const deleteFromSqs = (queueKeys: SqsQueues, messages: ReceivedMessage[]): Promise<void> =>
  sendReceiptBatches(queueKeys, messages, async (url, batch) => {
    const { Failed: failed } = await queueKeys.sqs.send(
      new DeleteMessageBatchCommand({ QueueUrl: url, Entries: batch.map(toReceiptEntry) }),
    );
    return failed;
  });

export const releaseToSqs = (queueKeys: SqsQueues, messages: ReceivedMessage[]): Promise<void> =>
  sendReceiptBatches(queueKeys, messages, async (url, batch) => {
    const entries = batch.map((message, index) => ({ ...toReceiptEntry(message, index), VisibilityTimeout: 0 }));
    const { Failed: failed } = await queueKeys.sqs.send(
      new ChangeMessageVisibilityBatchCommand({ QueueUrl: url, Entries: entries }),
    );
    return failed;
  });

const toReceiptEntry = ({ receipt }: ReceivedMessage, index: number) => ({ Id: String(index), ReceiptHandle: receipt });

interface FailedBatchEntry {
  Id: string | undefined;
  SenderFault: boolean | undefined;
  Code: string | undefined;
  Message?: string | undefined;
}

const sendReceiptBatches = (
  queueKeys: SqsQueues,
  messages: ReceivedMessage[],
  send: (url: string, batch: ReceivedMessage[]) => Promise<FailedBatchEntry[] | undefined>,
): Promise<void> => {
  const byQueue = Map.groupBy(messages, ({ queueKey }) => getQueueUrl(queueKeys, queueKey));
  // An expired receipt is ignored.
  return sendInBatches(queueKeys, byQueue, async (url, batch) =>
    (await send(url, batch))?.filter(({ SenderFault: isOurs }) => !isOurs),
  );
};

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
