import * as z from 'zod';
import { sendAgain } from '../shared/tasks/send-again.ts';
import { aboutRecord } from './about-record.ts';
import { logger, wired } from './parley.ts';
import { queueFunction } from './queue-function.ts';

const { deps } = wired();

const LaneMessage = z.object({ project: z.string(), body: z.object({ taskId: z.string(), entry: z.number() }) });

/** A lane gave its message up after many receives; the task is sent again if it still waits. */
export const handler = queueFunction(async (body, note) => {
  const { data } = LaneMessage.safeParse(jsonIn(body));
  if (!data) {
    // Nothing can be done for it, and the task that it may have been about is sent again by its own timer.
    logger.error('a queue gave up a message that says nothing', { bytes: body.length });
    return;
  }
  const { project, body: message } = data;
  note({ project, ...message });
  const { isSent, task } = await sendAgain(deps, project, message.taskId, message.entry);
  logger.warn('a queue gave up a message', { project, ...message, ...aboutRecord(task), isSent });
});

/** What is no JSON says as little as what lacks a field, and would otherwise come back until its queue forgets it. */
const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
