import { z } from 'zod';
import type { InvocationResult } from '../lambda/lambda-function.ts';

const Response = z.object({
  batchItemFailures: z.array(z.object({ itemIdentifier: z.string().min(1) })).nullish(),
});

/** `throttled`: the batch was not tried. */
type BatchResult = 'all failed' | 'throttled' | Set<string>;

/** Lambda: an answer that names an unknown item fails the whole batch. */
export const parseBatchResult = (
  result: InvocationResult,
  reportsFailures: boolean,
  identifiers: readonly string[],
): BatchResult => {
  if (result.ok === 'throttled') return 'throttled';
  if (!result.ok) return 'all failed';
  if (!reportsFailures) return new Set();
  const answer: unknown = JSON.parse(result.result);
  if (answer === null || answer === '' || (Array.isArray(answer) && answer.length === 0)) return new Set();
  const parsed = Response.safeParse(answer);
  if (!parsed.success) return 'all failed';
  const failed = (parsed.data.batchItemFailures ?? []).map(({ itemIdentifier }) => itemIdentifier);
  return failed.every((each) => identifiers.includes(each)) ? new Set(failed) : 'all failed';
};
