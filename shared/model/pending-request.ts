import * as z from 'zod';
import type { ParleyError } from '../kernel/errors.ts';
import { jsonObject, jsonValue } from '../kernel/json/parse-or-throw.ts';
import type { Trace } from '../kernel/trace.ts';
import { ON_FAILURE } from './task.ts';

/**
 * Requests that were accepted together and become tasks one by one. Until then the record of the batch or graph
 * stores them as they were sent. After a crash its timer continues.
 */
const PendingRequest = z.object({
  dialect: z.string(),
  message: jsonObject,
  /** Set here if the message has no field for it, or only a short id. */
  dependencyIds: z.array(z.string()).optional(),
  parent: z.string().optional(),
  onFailure: z.enum(ON_FAILURE).optional(),
  /** The graph is part of the fingerprint. */
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
