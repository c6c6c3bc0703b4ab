import * as z from 'zod';
import type { ParleyError } from '../kernel/errors.ts';
import { jsonObject, jsonValue } from '../kernel/json/parse-or-throw.ts';
import type { Trace } from '../kernel/trace.ts';
import { ON_FAILURE } from './task.ts';

/**
 * Requests that were accepted together and become tasks one after the other. They are kept, as they were sent, in the record
 * that stands for all of them, until each is a task; whoever dies in between leaves the rest to that record's due time.
 */
const PendingRequest = z.object({
  dialect: z.string(),
  message: jsonObject,
  /** Set here if the message has no field for it, or only a short id. */
  dependencyIds: z.array(z.string()).optional(),
  parent: z.string().optional(),
  onFailure: z.enum(ON_FAILURE).optional(),
  /** Of which graph it is a node: the same request in another one is another request. */
  graph: z.string().optional(),
  completed: z.object({ output: jsonValue }).optional(),
  batchMembership: z.object({ batchId: z.string(), index: z.number() }).optional(),
});
export type PendingRequest = z.output<typeof PendingRequest>;
export const PendingRequests = z.array(PendingRequest);

/** An error in one of several requests. */
export interface RequestIssue {
  path: string;
  error: ParleyError;
}

export interface Submitter {
  project: string;
  from: string;
  trace: Trace;
}
