import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { LambdaFunction } from '../lambda/lambda-function.ts';
import { parseBatchResult } from './batch-failures.ts';
import { type MappingProperties, parseFilter, type RunningMapping, reportsFailures } from './mapping.ts';

const Message = z.object({
  MessageId: z.string(),
  ReceiptHandle: z.string(),
  MD5OfBody: z.string(),
  MD5OfMessageAttributes: z.string().optional(),
  Body: z.string(),
  Attributes: z.record(z.string(), z.string()).default({}),
  MessageAttributes: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
});
type Message = z.output<typeof Message>;
const Received = z.object({ Messages: z.array(Message).default([]) });

interface QueueMappingOptions {
  properties: MappingProperties;
  queue: { name: string; url: string; arn: string; region: string };
  target: LambdaFunction;
  sqs(operation: string, body: object, signal?: AbortSignal): Promise<unknown>;
  onError(line: string): void;
}

const LONG_POLL_SECONDS = 20;
/** Lambda starts with five; two already show concurrent batches. */
const POLLERS = 2;
const AFTER_ERROR_MS = 1000;
const MOST_AT_ONCE = 10;

/** A failed message stays in the queue until its visibility timeout ends, as on AWS. */
export const runQueueMapping = (options: QueueMappingOptions): RunningMapping => {
  const stopping = new AbortController();
  const pollers = Array.from({ length: POLLERS }, () => poll(options, stopping.signal));
  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(pollers);
    },
  };
};

const poll = async (options: QueueMappingOptions, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    try {
      const messages = await collectBatch(options, signal);
      if (messages.length > 0) await handle(options, messages);
    } catch (error) {
      if (signal.aborted) return;
      options.onError(`reading ${options.queue.name} for ${options.target.name} failed: ${String(error)}`);
      await pause(AFTER_ERROR_MS, undefined, { signal }).catch(() => {});
    }
  }
};

const collectBatch = async (options: QueueMappingOptions, signal: AbortSignal): Promise<Message[]> => {
  const { BatchSize = 10, MaximumBatchingWindowInSeconds: windowSeconds } = options.properties;
  const messages = await receive(options, BatchSize, LONG_POLL_SECONDS, signal);
  const until = Date.now() + windowSeconds * 1000;
  while (messages.length > 0 && messages.length < BatchSize && Date.now() < until && !signal.aborted) {
    const seconds = Math.min(LONG_POLL_SECONDS, Math.ceil((until - Date.now()) / 1000));
    messages.push(...(await receive(options, BatchSize - messages.length, seconds, signal)));
  }
  return messages;
};

const receive = async (
  { sqs, queue }: QueueMappingOptions,
  most: number,
  waitSeconds: number,
  signal: AbortSignal,
): Promise<Message[]> => {
  const answer = await sqs(
    'ReceiveMessage',
    {
      QueueUrl: queue.url,
      MaxNumberOfMessages: Math.min(most, MOST_AT_ONCE),
      WaitTimeSeconds: waitSeconds,
      MessageSystemAttributeNames: ['All'],
      MessageAttributeNames: ['All'],
    },
    signal,
  );
  return Received.parse(answer).Messages;
};

const handle = async (options: QueueMappingOptions, messages: Message[]): Promise<void> => {
  const { properties, target } = options;
  const passes = parseFilter(properties);
  const wanted = messages.filter((message) => passes(toFilterView(message)));
  const failed =
    wanted.length === 0
      ? new Set<string>()
      : parseBatchResult(
          await target.invoke({ Records: wanted.map((message) => toSqsRecord(message, options)) }),
          reportsFailures(properties),
          wanted.map(({ MessageId }) => MessageId),
        );
  // Lambda deletes messages that the filter excludes.
  const done = messages.filter(
    (message) => !wanted.includes(message) || (failed instanceof Set && !failed.has(message.MessageId)),
  );
  if (done.length > 0) await remove(options, done);
};

const remove = async ({ sqs, queue }: QueueMappingOptions, messages: Message[]): Promise<void> => {
  for (let at = 0; at < messages.length; at += MOST_AT_ONCE) {
    const Entries = messages
      .slice(at, at + MOST_AT_ONCE)
      .map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
    await sqs('DeleteMessageBatch', { QueueUrl: queue.url, Entries });
  }
};

const toFilterView = ({ Body, ...rest }: Message): object => {
  try {
    return { ...rest, body: JSON.parse(Body) };
  } catch {
    return { ...rest, body: Body };
  }
};

const toSqsRecord = (message: Message, { queue }: QueueMappingOptions): object => ({
  messageId: message.MessageId,
  receiptHandle: message.ReceiptHandle,
  body: message.Body,
  attributes: message.Attributes,
  messageAttributes: Object.fromEntries(
    Object.entries(message.MessageAttributes).map(([name, { DataType, StringValue, BinaryValue }]) => [
      name,
      { dataType: DataType, stringValue: StringValue, binaryValue: BinaryValue },
    ]),
  ),
  md5OfBody: message.MD5OfBody,
  md5OfMessageAttributes: message.MD5OfMessageAttributes,
  eventSource: 'aws:sqs',
  eventSourceARN: queue.arn,
  awsRegion: queue.region,
});
