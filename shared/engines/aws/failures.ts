import { ParleyError } from '../../errors.ts';

/** What AWS calls it when it is asked too often, or is not well. Nothing was decided, and later it may work. */
const PASSING = new Set([
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingException',
  'RequestThrottled',
  'TransactionConflictException',
  'InternalServerError',
  'InternalFailure',
  'ServiceUnavailable',
  'TimeoutError',
]);

/** A failure of a service as the domain knows it: the caller is told to come again, and no more. */
export const unavailable = (error: unknown): unknown =>
  isPassing(error)
    ? new ParleyError('storage_unavailable', 'The storage is too busy at the moment. Try again.', {
        retry: 'later',
        cause: error,
      })
    : error;

const isPassing = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  const isServerFault = '$fault' in error && error.$fault === 'server';
  const isNetwork = 'code' in error && typeof error.code === 'string' && /^E[A-Z]+$/.test(error.code);
  return PASSING.has(error.name) || isServerFault || isNetwork;
};

/** An update wrote into a map that is not there. */
export const isMissingMap = (error: unknown): boolean =>
  error instanceof Error && error.name === 'ValidationException' && error.message.includes('document path');
