import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { fingerprint } from '../../json/fingerprint.ts';
import type { Json } from '../../json/json.ts';
import { type Clock, nap } from '../../ports/clock.ts';
import type { Lane, Outgoing, Received, ReceiveOptions } from '../../ports/queues.ts';
import { answerOf } from './failures.ts';
import { backOff, inChunks } from './patience.ts';

export interface SqsLanes {
  sqs: SQSClient;
  /** A queue's address is this and what its lane is called. */
  urlPrefix: string;
  suffixOf: (lane: Lane) => string;
  /** Whether the deployment has this lane's queue. A domain may be gone while some of its tasks are not. */
  has: (lane: Lane) => boolean;
  /** Told of what was sent to a lane that is gone: the task waits in vain, and expires. */
  onLost: (message: Outgoing) => void;
  clock: Clock;
  newId: () => string;
}

const urlOf = ({ urlPrefix, suffixOf }: SqsLanes, lane: Lane): string => urlPrefix + suffixOf(lane);

/** What a queue carries. The project is for whoever finds it in the dead-letter queue. */
export interface LaneMessage {
  project: string;
  group: string;
  body: Json;
}

/** What a batch of SQS takes: ten messages, and 1 MiB in all. */
const MOST_IN_BATCH = 10;
const MOST_BYTES = 1024 * 1024;

export const sendToLanes = async (lanes: SqsLanes, messages: Outgoing[]): Promise<void> => {
  for (const lost of messages.filter(({ lane }) => !lanes.has(lane))) lanes.onLost(lost);
  const deliverable = messages.filter(({ lane }) => lanes.has(lane));
  for (const round of inRounds(deliverable)) {
    const byQueue = Map.groupBy(round, ({ lane }) => urlOf(lanes, lane));
    const send = async (url: string, batch: Outgoing[]) => {
      const { Failed: failed } = await lanes.sqs.send(
        new SendMessageBatchCommand({ QueueUrl: url, Entries: batch.map(entryOf) }),
      );
      return failed;
    };
    await inBatches(lanes, byQueue, send, (message) => bodyOf(message).length);
  }
};

/** The first of each group, then the second of each: batches go side by side, and a part of one may have to go again. */
const inRounds = (messages: Outgoing[]): Outgoing[][] => {
  const rounds: Outgoing[][] = [];
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

/** Group and deduplication id may have 128 characters of few kinds, and a task's id may have others. */
export const entryOf = (message: Outgoing, index: number) => ({
  Id: String(index),
  MessageGroupId: fingerprint(message.group),
  MessageDeduplicationId: fingerprint(message.dedup),
  MessageBody: bodyOf(message),
});

const bodyOf = ({ lane: { project }, group, body }: Outgoing): string => inAscii({ project, group, body });

/** SQS takes few control characters, and not every server every other one. */
const inAscii = (message: LaneMessage): string =>
  JSON.stringify(message).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** How often a lane is asked on, past what is left to others. */
const ASKED_ON = 5;

/**
 * A queue gives whatever comes first. What is left to others is kept only for as long as it takes to see what stands behind it;
 * who waits then waits on, for it would be given the same again.
 */
export const receiveFromLane = async (
  lanes: SqsLanes,
  lane: Lane,
  { leaves, ...options }: Asking & Pick<ReceiveOptions, 'leaves'>,
): Promise<Received[]> => {
  const left: Received[] = [];
  for (let times = 0; ; times++) {
    const isFirst = times === 0;
    const received = await asked(lanes, lane, isFirst ? options : { ...options, max: MOST_IN_BATCH, waitSeconds: 0 });
    const wanted = leaves ? received.filter(({ body }) => !leaves(body)) : received;
    left.push(...received.filter((message) => !wanted.includes(message)));
    const isOver = wanted.length > 0 || received.length === 0 || times === ASKED_ON;
    if (!isOver) continue;
    if (left.length > 0) await releaseToLanes(lanes, left);
    if (left.length > 0 && wanted.length === 0) await nap(lanes.clock, options.waitSeconds * 1000, options.signal).over;
    return wanted;
  }
};

interface Asking {
  max: number;
  waitSeconds: number;
  visibilityMs: number;
  signal?: AbortSignal;
}

const asked = async (lanes: SqsLanes, lane: Lane, options: Asking): Promise<Received[]> => {
  const { Messages: messages = [] } = await answerOf(
    lanes.sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: urlOf(lanes, lane),
        MaxNumberOfMessages: Math.min(options.max, MOST_IN_BATCH),
        WaitTimeSeconds: options.waitSeconds,
        VisibilityTimeout: Math.ceil(options.visibilityMs / 1000),
        // Where the answer is lost and the SDK asks again, it gets the same messages.
        ReceiveRequestAttemptId: lanes.newId(),
      }),
      { abortSignal: options.signal },
    ),
  );
  return messages.map((message) => receivedIn(lane, message));
};

const receivedIn = (lane: Lane, { Body: text = '{}', ReceiptHandle: receipt = '' }: Message): Received => {
  const { group, body }: LaneMessage = JSON.parse(text);
  return { lane, group, body, receipt };
};

export const deleteFromLanes = (lanes: SqsLanes, messages: Received[]): Promise<void> =>
  onReceipts(lanes, messages, async (url, batch) => {
    const { Failed: failed } = await lanes.sqs.send(
      new DeleteMessageBatchCommand({ QueueUrl: url, Entries: batch.map(receiptOf) }),
    );
    return failed;
  });

export const releaseToLanes = (lanes: SqsLanes, messages: Received[]): Promise<void> =>
  onReceipts(lanes, messages, async (url, batch) => {
    const entries = batch.map((message, index) => ({ ...receiptOf(message, index), VisibilityTimeout: 0 }));
    const { Failed: failed } = await lanes.sqs.send(
      new ChangeMessageVisibilityBatchCommand({ QueueUrl: url, Entries: entries }),
    );
    return failed;
  });

const receiptOf = ({ receipt }: Received, index: number) => ({ Id: String(index), ReceiptHandle: receipt });

interface FailedEntry {
  Id: string | undefined;
  SenderFault: boolean | undefined;
  Code: string | undefined;
  Message?: string | undefined;
}

const onReceipts = (
  lanes: SqsLanes,
  messages: Received[],
  send: (url: string, batch: Received[]) => Promise<FailedEntry[] | undefined>,
): Promise<void> => {
  const byQueue = Map.groupBy(messages, ({ lane }) => urlOf(lanes, lane));
  // A receipt that is no longer good is not this caller's any more: the message comes again, to somebody.
  return inBatches(lanes, byQueue, async (url, batch) =>
    (await send(url, batch))?.filter(({ SenderFault: isOurs }) => !isOurs),
  );
};

/** A batch may succeed in part: what failed is sent again by itself. */
export const inBatches = async <T>(
  { clock }: { clock: Clock },
  byQueue: Map<string, T[]>,
  send: (url: string, batch: T[]) => Promise<FailedEntry[] | undefined>,
  bytesOf?: (one: T) => number,
): Promise<void> => {
  const batches = [...byQueue].flatMap(([url, all]) =>
    inChunks(all, MOST_IN_BATCH, MOST_BYTES, bytesOf).map((batch) => ({ url, batch })),
  );
  await Promise.all(
    batches.map(async ({ url, batch }) => {
      let left = batch;
      for (let attempt = 0; left.length > 0; attempt++) {
        if (attempt > 0) await backOff(clock, attempt, 'SQS');
        left = await leftOf(left, () => send(url, left));
      }
    }),
  );
};

const leftOf = async <T>(batch: T[], send: () => Promise<FailedEntry[] | undefined>): Promise<T[]> => {
  const failed = (await answerOf(send())) ?? [];
  const fault = failed.find(({ SenderFault: isOurs }) => isOurs);
  if (fault) throw new Error(`SQS refuses a message: ${fault.Code} ${fault.Message}`);
  return failed.flatMap(({ Id: id }) => batch[Number(id)] ?? []);
};
