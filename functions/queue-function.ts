import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { inLambda } from './in-lambda.ts';
import { logged } from './logged.ts';
import { tellMeasured } from './measured.ts';
import { logger } from './parley.ts';

/** Says what is known of the message by now, for the line that tells of its failure. */
export type Note = (facts: object) => void;

/** A function that reads a queue, message by message. What fails is told, and comes again; the rest of its batch is done. */
export const queueFunction = (work: (body: string, note: Note) => Promise<void>) => {
  const processor = new BatchProcessor(EventType.SQS);
  const one = async ({ body, messageId }: SQSRecord): Promise<void> => {
    let about: object = { messageId };
    try {
      await work(body, (facts) => {
        about = { ...about, ...facts };
      });
    } catch (error) {
      logger.error('a message could not be worked off', { ...about, error: String(error) });
      throw error;
    }
  };
  return inLambda<SQSEvent, SQSBatchResponse>()
    .use(logged(() => ({})))
    .handler(async (event, context) => {
      const answer = await processPartialResponse(event, one, processor, { context, throwOnFullBatchFailure: false });
      await tellMeasured();
      return answer;
    });
};
