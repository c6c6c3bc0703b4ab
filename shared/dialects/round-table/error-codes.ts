import { isRoundTableErrorCode, type RoundTableErrorCode } from './schema.ts';

/** The nearest to what other dialects say, by their codes in lower case. */
const NEAREST_CODES: ReadonlyMap<string, RoundTableErrorCode> = new Map<string, RoundTableErrorCode>([
  ['data_unavailable', 'model_error'],
  ['source_error', 'model_error'],
  ['validation_failed', 'invalid_params'],
  ['unauthorized', 'skill_missing'],
  ['invalid_input', 'invalid_params'],
  ['missing_required_field', 'invalid_params'],
  ['invalid_field_type', 'invalid_params'],
  ['invalid_field_value', 'invalid_params'],
  ['agent_not_found', 'skill_missing'],
  ['capability_not_found', 'skill_missing'],
  ['agent_busy', 'rate_limited'],
  ['mcp_rate_limited', 'rate_limited'],
  ['knowledge_not_found', 'invalid_params'],
  ['task_graph_cycle', 'invalid_params'],
]);

/** Whether it is tried again stands beside it, whatever the code. */
export const toRoundTableErrorCode = (code: string): RoundTableErrorCode => {
  const lower = code.toLowerCase();
  return isRoundTableErrorCode(lower) ? lower : (NEAREST_CODES.get(lower) ?? 'internal_error');
};
