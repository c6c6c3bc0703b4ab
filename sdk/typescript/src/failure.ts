import { Fail, type ParleyError, Retry, TaskFailed } from './errors.ts';
import type { JsonObject } from './json.ts';
import { SchemaError } from './schema.ts';

const MAX_MESSAGE = 4000;

/** What the server is told of an attempt that ended with an error. */
export const toFailure = (error: unknown): JsonObject & { retryable: boolean } => {
  if (error instanceof Retry) {
    const { code, message, afterMs, details } = error;
    return {
      code,
      message: message.slice(0, MAX_MESSAGE),
      retryable: true,
      ...(afterMs !== undefined && { retryAfterSeconds: afterMs / 1000 }),
      ...(details && { details }),
    };
  }
  if (error instanceof Fail) {
    const { code, message, details } = error;
    return { code, message: message.slice(0, MAX_MESSAGE), retryable: false, ...(details && { details }) };
  }
  if (error instanceof SchemaError) {
    return { code: 'invalid_params', message: error.message.slice(0, MAX_MESSAGE), retryable: false };
  }
  // Every attempt gets the same subtask back.
  if (error instanceof TaskFailed) {
    const details = { taskId: error.taskId, code: error.code };
    return { code: 'subtask_failed', message: error.message.slice(0, MAX_MESSAGE), retryable: false, details };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'internal_error', message: message.slice(0, MAX_MESSAGE), retryable: true };
};

/** The result itself was rejected: the next attempt would return the same. */
export const toRejectedResult = ({ message, code }: ParleyError): JsonObject & { retryable: boolean } => ({
  code: 'invalid_result',
  message: `Parley rejected the result (${code}): ${message}`.slice(0, MAX_MESSAGE),
  retryable: false,
});
