import * as z from 'zod';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { TASK_STATUSES, type TaskStatus } from '../../model/task.ts';
import { agentName, commaSeparated, flag, timeRange } from './list-query.ts';

const named = {
  type: z.string().min(1).max(128).optional().describe('the capability'),
  error: z.string().min(1).max(64).optional().describe('the code of its error'),
  requester: agentName.optional(),
  holder: agentName.optional(),
  agent: agentName.optional().describe('the requester, the addressee or the holder'),
  domain: agentName.optional(),
  conversation: z.string().min(1).max(256).optional(),
  ...timeRange,
  idPrefix: z.string().min(1).max(128).optional(),
};

const retrying = 'waits for its delay after a failed attempt';
const delayed = 'waits for the time of its start';
const waits = 'waits for input';

const DEAD = ['failed', 'expired'] as const satisfies TaskStatus[];

/** Of the dead letters, in the query: no other task is one. */
export const deadLetterFilterQuery = { ...named, status: commaSeparated(DEAD).optional() };

/** The same in a body. */
export const DeadLetterFilterBody = z.strictObject({
  ...named,
  status: boundedArray(z.enum(DEAD), { min: 1, max: DEAD.length }).optional(),
});

/** Of a list, in the query. */
export const taskFilterQuery = {
  ...named,
  status: commaSeparated(TASK_STATUSES).optional(),
  retrying: flag.optional().describe(retrying),
  delayed: flag.optional().describe(delayed),
  waits: flag.optional().describe(waits),
};

/** In a body. */
export const TaskFilterBody = z.strictObject({
  ...named,
  status: boundedArray(z.enum(TASK_STATUSES), { min: 1, max: TASK_STATUSES.length }).optional(),
  retrying: z.literal(true).optional().describe(retrying),
  delayed: z.literal(true).optional().describe(delayed),
  waits: z.literal(true).optional().describe(waits),
});
