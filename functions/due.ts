import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import middy from '@middy/core';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import * as z from 'zod';
import { onDue } from '../shared/dispatch/on-due.ts';
import { aboutRecord } from './about-record.ts';
import { logged } from './logged.ts';
import { tellMeasured } from './measured.ts';
import { logger, wired } from './parley.ts';

const { engine, deps } = wired();
const processor = new BatchProcessor(EventType.SQS);

const DueMessage = z.object({ pk: z.string(), sk: z.string(), due: z.number() });

/** What time does to the records whose second has come. */
export const handler = middy<SQSEvent, SQSBatchResponse>()
  .use(logged(() => ({})))
  .handler(async (event, context) => {
    const answer = await processPartialResponse(event, fire, processor, { context, throwOnFullBatchFailure: false });
    await tellMeasured();
    return answer;
  });

const fire = async ({ body }: SQSRecord): Promise<void> => {
  const message = DueMessage.parse(JSON.parse(body));
  let about: object = { record: message.pk };
  try {
    await engine.timers.fire(message, (record) => {
      about = aboutRecord(record);
      return onDue(deps, record);
    });
  } catch (error) {
    logger.error('a timer could not be carried out', { ...about, due: message.due, error: String(error) });
    throw error;
  }
};
