import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { createHandler } from './create-handler.ts';
import { logger } from './function-logger.ts';
import { flushMetrics } from './metrics-buffer.ts';

/** Says what is known of the message by now, for the line that tells of its failure. */
export type AddLogFields = (facts: object) => void;

/** A function that reads a queue, message by message. What fails is told, and comes again; the rest of its batch is done. */
export const createQueueFunction = (
  work: (body: string, directMessage: AddLogFields, receives: number) => Promise<void>,
) => {
  const processor = new BatchProcessor(EventType.SQS);
  const processRecord = async ({ body, messageId, attributes }: SQSRecord): Promise<void> => {
    let about: object = { messageId };
    try {
      const addFields: AddLogFields = (facts) => {
        about = { ...about, ...facts };
      };
      await work(body, addFields, Number(attributes?.ApproximateReceiveCount));
    } catch (error) {
      logger.error('queue message failed', { ...about, error: String(error) });
      throw error;
    }
  };
  return createHandler<SQSEvent, SQSBatchResponse>(async (event, context) => {
    const answer = await processPartialResponse(event, processRecord, processor, {
      context,
      throwOnFullBatchFailure: false,
    });
    await flushMetrics();
    return answer;
  });
};
