import type { TaskError } from '../../model/task.ts';
import { ROUND_TABLE_ERROR_CODES, type RoundTableErrorCode } from './schema.ts';

/** The nearest to what other dialects say, by their codes in lower case. */
const NEAREST_CODES: ReadonlyMap<string, RoundTableErrorCode> = new Map<string, RoundTableErrorCode>([
  ['data_unavailable', 'model_error'],
  ['source_error', 'model_error'],
  ['validation_failed', 'invalid_params'],
  ['fabrication_detected', 'invalid_params'],
  ['safety_violation', 'invalid_params'],
  ['unauthorized', 'skill_missing'],
  ['invalid_input', 'invalid_params'],
  ['missing_required_field', 'invalid_params'],
  ['invalid_field_type', 'invalid_params'],
  ['invalid_field_value', 'invalid_params'],
  ['agent_not_found', 'skill_missing'],
  ['capability_not_found', 'skill_missing'],
  ['agent_busy', 'rate_limited'],
  ['mcp_rate_limited', 'rate_limited'],
]);

/** A code that has no neighbour keeps at least whether trying again can help. */
export const toRoundTableErrorCode = ({ code, retryable }: Pick<TaskError, 'code' | 'retryable'>): string => {
  const lower = code.toLowerCase();
  if (Object.hasOwn(ROUND_TABLE_ERROR_CODES, lower)) return lower;
  return NEAREST_CODES.get(lower) ?? (retryable ? 'internal_error' : 'invalid_params');
};
