import type { TaskError } from '../../tasks/task.ts';
import { ERROR_CODES, type ErrorCode } from './schema.ts';

/** The nearest to what other dialects say, by their codes in lower case. */
const NEAREST: Record<string, ErrorCode> = {
  data_unavailable: 'model_error',
  source_error: 'model_error',
  validation_failed: 'invalid_params',
  fabrication_detected: 'invalid_params',
  safety_violation: 'invalid_params',
  unauthorized: 'skill_missing',
};

/** A code that has no neighbour keeps at least whether trying again can help. */
export const nearestCode = ({ code, retryable }: Pick<TaskError, 'code' | 'retryable'>): string => {
  const lower = code.toLowerCase();
  if (lower in ERROR_CODES) return lower;
  return NEAREST[lower] ?? (retryable ? 'internal_error' : 'invalid_params');
};
