import { ParleyError } from '../../errors.ts';
import { type Clock, nap } from '../../ports/clock.ts';

/**
 * What AWS calls it when it, or the key that it encrypts with, is asked too often, or when it has no answer in time. Nothing was
 * decided, and later it may work.
 */
const PASSING = new Set([
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingException',
  'RequestThrottled',
  'KmsThrottled',
  'KMS.ThrottlingException',
  'TransactionInProgressException',
  'RequestTimeout',
  'TimeoutError',
]);

/** A failure of a service as the domain knows it: the caller is told to come again, and no more. */
const unavailable = (error: unknown): unknown =>
  isPassing(error)
    ? new ParleyError('storage_unavailable', 'The storage is too busy at the moment. Try again.', {
        retry: 'later',
        cause: error,
      })
    : error;

/** What a call to a service answers, or why it failed in the domain's words. */
export const answerOf = async <T>(call: Promise<T>): Promise<T> => {
  try {
    return await call;
  } catch (error) {
    throw unavailable(error);
  }
};

/** Others end with the same records within milliseconds; after so many attempts something else is wrong. */
const MOST_ATTEMPTS = 8;
const PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** Asks again, after pauses that grow and differ, while others are in the way: `undefined` says that they were. */
export const pastOthers = async <T>(clock: Clock, attempt: () => Promise<T | undefined>): Promise<T> => {
  for (let attempts = 1; attempts <= MOST_ATTEMPTS; attempts++) {
    const done = await attempt();
    if (done !== undefined) return done;
    await nap(clock, Math.min(PAUSE_MS * 2 ** attempts, LONGEST_PAUSE_MS) * Math.random()).over;
  }
  throw new ParleyError('conflict', 'Other writes to the same records were in the way. Try again.', { retry: 'later' });
};

/** A single write met a transaction on its record. */
export const isInTheWay = (error: unknown): boolean =>
  error instanceof Error && error.name === 'TransactionConflictException';

const isPassing = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  // By the status: what stands before a service may answer with something that is not even an error of the service.
  const isServerFault = '$metadata' in error && Object(error.$metadata).httpStatusCode >= 500;
  const isNetwork = 'code' in error && typeof error.code === 'string' && /^E([A-Z]+|AI_AGAIN)$/.test(error.code);
  return PASSING.has(error.name) || isServerFault || isNetwork;
};

/** An update wrote into a map that is not there. */
export const isMissingMap = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ValidationException' && error.message.includes('document path');
