import * as z from 'zod';
import { requeueTask } from '../shared/tasks/commands/enqueue-task.ts';
import { createRuntime } from './runtime/composition.ts';
import { logger } from './runtime/function-logger.ts';
import { createQueueFunction } from './runtime/queue-function.ts';
import { getRecordLogFields } from './runtime/record-log-fields.ts';

const { deps } = createRuntime();

const DeadLetter = z.object({
  project: z.string(),
  body: z.object({ taskId: z.string(), queueGeneration: z.number() }),
});

/** A queue gave up its message after many receives. The task is requeued if it still waits. */
export const handler = createQueueFunction(async (body, directMessage) => {
  const { data } = DeadLetter.safeParse(parseJsonOrUndefined(body));
  if (!data) {
    // Nothing can be done for it, and the task that it may have been about is sent again by its own timer.
    logger.error('unreadable dead letter', { bytes: body.length });
    return;
  }
  const { project, body: message } = data;
  directMessage({ project, ...message });
  const { isSent, task } = await requeueTask(deps, project, message.taskId, message.queueGeneration);
  logger.warn('dead letter received', { project, ...message, ...getRecordLogFields(task), isSent });
});

/** What is no JSON says as little as what lacks a field, and would otherwise come back until its queue forgets it. */
const parseJsonOrUndefined = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
