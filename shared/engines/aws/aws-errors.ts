import { ParleyError } from '../../kernel/errors.ts';
import { type Clock, sleep } from '../../ports/clock.ts';

/**
 * What AWS calls it when it, or the key that it encrypts with, is asked too often, or when it has no answer in time. Nothing was
 * decided, and later it may work.
 */
const TRANSIENT = new Set([
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
const toStorageError = (error: unknown): unknown =>
  isTransient(error)
    ? new ParleyError('storage_unavailable', 'The storage is too busy at the moment. Try again.', {
        retryable: true,
        cause: error,
      })
    : error;

/** What a call to a service answers, or why it failed in the domain's words. */
export const mapAwsErrors = async <T>(call: Promise<T>): Promise<T> => {
  try {
    return await call;
  } catch (error) {
    throw toStorageError(error);
  }
};

/** Others end with the same records within milliseconds; after so many attempts something else is wrong. */
const MAX_ATTEMPTS = 8;
const PAUSE_MS = 20;
const MAX_PAUSE_MS = 500;

/** Asks again, after pauses that grow and differ, while others are in the way: `undefined` says that they were. */
export const retryOnConflict = async <T>(clock: Clock, attempt: () => Promise<T | undefined>): Promise<T> => {
  for (let attempts = 1; attempts <= MAX_ATTEMPTS; attempts++) {
    const done = await attempt();
    if (done !== undefined) return done;
    await sleep(clock, Math.min(PAUSE_MS * 2 ** attempts, MAX_PAUSE_MS) * Math.random()).done;
  }
  throw new ParleyError('conflict', 'Other writes to the same records were in the way. Try again.', {
    retryable: true,
  });
};

/** A single write met a transaction on its record. */
export const isTransactionConflict = (error: unknown): boolean =>
  error instanceof Error && error.name === 'TransactionConflictException';

const isTransient = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  // By the status: what stands before a service may answer with something that is not even an error of the service.
  const isServerFault = '$metadata' in error && Object(error.$metadata).httpStatusCode >= 500;
  const isNetwork = 'code' in error && typeof error.code === 'string' && /^E([A-Z]+|AI_AGAIN)$/.test(error.code);
  return TRANSIENT.has(error.name) || isServerFault || isNetwork;
};

/** An update wrote into a map that is not there. */
export const isMissingMapError = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ValidationException' && error.message.includes('document path');
