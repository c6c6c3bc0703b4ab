import { ParleyError } from '../../kernel/errors.ts';

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
export const TRANSACTION_CONFLICT_RETRIES = { attempts: 8, pauseMs: 20, maxPauseMs: 500 };

export const isTransactionConflict = (error: unknown): boolean =>
  error instanceof Error && error.name === 'TransactionConflictException';

const isTransient = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  // By status: a proxy in front of the service may send a body that is no AWS error.
  const isServerFault = '$metadata' in error && Object(error.$metadata).httpStatusCode >= 500;
  const isNetwork = 'code' in error && typeof error.code === 'string' && /^E([A-Z]+|AI_AGAIN)$/.test(error.code);
  return TRANSIENT.has(error.name) || isServerFault || isNetwork;
};

/** What a service says of the data of a call. All else that it refuses is about its state, or about access to it. */
const ABOUT_DATA = new Set([
  'ValidationException',
  'SerializationException',
  'InvalidMessageContents',
  'BatchRequestTooLong',
  'InvalidParameterValue',
]);

/** Whether the same may work later, when a service has recovered or somebody has mended what it needs. */
export const isPassingFault = (error: unknown): boolean => {
  if (error instanceof ParleyError) return error.retryable;
  if (!(error instanceof Error)) return false;
  return isTransient(error) || ('$metadata' in error && !ABOUT_DATA.has(error.name));
};

/** DynamoDB's answer to an update of a path inside a missing map. */
export const isMissingMapError = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ValidationException' && error.message.includes('document path');
