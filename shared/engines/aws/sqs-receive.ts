import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
} from '@aws-sdk/client-sqs';
import { sleep } from '../../ports/clock.ts';
import type { QueueKey, ReceivedMessage, ReceiveOptions } from '../../ports/queues.ts';
import { mapAwsErrors } from './aws-errors.ts';
import {
  type FailedBatchEntry,
  getQueueUrl,
  MAX_BATCH_ENTRIES,
  type QueueMessageBody,
  type SqsQueues,
  sendInBatches,
} from './sqs-queue.ts';

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
/** Skipped messages are offered to others meanwhile. */
const SKIPPED_PAUSE_MS = 1000;
/** What a receive may take beyond its wait. */
const ANSWER_MS = 3000;

export interface PollOptions {
  max: number;
  waitSeconds: number;
  visibilityMs: number;
  signal?: AbortSignal;
  skip?: ReceiveOptions['skip'];
}

/** SQS returns whatever is first. Skipped messages stay hidden only while later ones are read. */
export const receiveSkipping = async (
  queueKeys: SqsQueues,
  queueKey: QueueKey,
  { skip, ...options }: PollOptions,
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
    if (left.length > 0 && wanted.length === 0 && options.waitSeconds > 0)
      await sleep(queueKeys.clock, SKIPPED_PAUSE_MS, options.signal).done.catch(() => {});
    return wanted;
  }
};

/**
 * A receive that is ended is repeated with its own attempt id: SQS then returns what it had given to the first, which would stay
 * hidden.
 */
const receiveMessages = async (
  queueKeys: SqsQueues,
  queueKey: QueueKey,
  { max, waitSeconds, visibilityMs, signal }: Omit<PollOptions, 'skip'>,
): Promise<ReceivedMessage[]> => {
  const attempt = queueKeys.newId();
  const ask = async (seconds: number, abortSignal?: AbortSignal): Promise<ReceivedMessage[]> => {
    const { Messages: messages = [] } = await mapAwsErrors(
      queueKeys.sqs.send(
        new ReceiveMessageCommand({
          QueueUrl: getQueueUrl(queueKeys, queueKey),
          MaxNumberOfMessages: Math.min(max, MAX_BATCH_ENTRIES),
          WaitTimeSeconds: seconds,
          VisibilityTimeout: Math.ceil(visibilityMs / 1000),
          ReceiveRequestAttemptId: attempt,
        }),
        { abortSignal, requestTimeout: seconds * 1000 + ANSWER_MS },
      ),
    );
    return messages.map((message) => decodeMessage(queueKey, message)).toSorted(compareQueuedAt);
  };
  if (waitSeconds === 0 || signal === undefined) return ask(waitSeconds);
  try {
    return signal.aborted ? [] : await ask(waitSeconds, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    return ask(0);
  }
};

/** SQS keeps the order of a group, which is a task, and gives groups in any. */
const compareQueuedAt = (a: ReceivedMessage, b: ReceivedMessage): number => (a.at ?? 0) - (b.at ?? 0);

const decodeMessage = (
  queueKey: QueueKey,
  { Body: text = '{}', ReceiptHandle: receipt = '' }: Message,
): ReceivedMessage => {
  const { group, at, body }: QueueMessageBody = JSON.parse(text);
  return { queueKey, group, ...(at !== undefined && { at }), body, receipt };
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
