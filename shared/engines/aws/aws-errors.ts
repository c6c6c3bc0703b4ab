import { ParleyError } from '../../kernel/errors.ts';
import { type Clock, sleep } from '../../ports/clock.ts';

/** AWS's names for throttling, also by KMS, and for timeouts: a retry may succeed. */
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

const toStorageError = (error: unknown): unknown =>
  isTransient(error)
    ? new ParleyError('storage_unavailable', 'The storage is too busy at the moment. Try again.', {
        retryable: true,
        cause: error,
      })
    : error;

export const mapAwsErrors = async <T>(call: Promise<T>): Promise<T> => {
  try {
    return await call;
  } catch (error) {
    throw toStorageError(error);
  }
};

/** Conflicts end within milliseconds; after eight attempts the cause is another one. */
const MAX_ATTEMPTS = 8;
const PAUSE_MS = 20;
const MAX_PAUSE_MS = 500;

/** `undefined` from `attempt` is a conflict. */
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

export const isTransactionConflict = (error: unknown): boolean =>
  error instanceof Error && error.name === 'TransactionConflictException';

const isTransient = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  // By status: a proxy in front of the service may send a body that is no AWS error.
  const isServerFault = '$metadata' in error && Object(error.$metadata).httpStatusCode >= 500;
  const isNetwork = 'code' in error && typeof error.code === 'string' && /^E([A-Z]+|AI_AGAIN)$/.test(error.code);
  return TRANSIENT.has(error.name) || isServerFault || isNetwork;
};

/** DynamoDB's answer to an update of a path inside a missing map. */
export const isMissingMapError = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ValidationException' && error.message.includes('document path');
