/** The codes of the document and `CANCELLED`, and whether what failed may be tried again. */
export const AGENT_OS_ERROR_CODES = {
  DATA_UNAVAILABLE: { recoverable: true },
  SOURCE_ERROR: { recoverable: true },
  VALIDATION_FAILED: { recoverable: false },
  TIMEOUT: { recoverable: true },
  FABRICATION_DETECTED: { recoverable: false },
  SAFETY_VIOLATION: { recoverable: false },
  UNAUTHORIZED: { recoverable: false },
  CANCELLED: { recoverable: false },
} as const;

export type AgentOsErrorCode = keyof typeof AGENT_OS_ERROR_CODES;
export const isAgentOsErrorCode = (code: string): code is AgentOsErrorCode => Object.hasOwn(AGENT_OS_ERROR_CODES, code);

/** The nearest to what other dialects say, by their codes in lower case. */
const NEAREST_CODES: ReadonlyMap<string, AgentOsErrorCode> = new Map<string, AgentOsErrorCode>([
  ['timeout', 'TIMEOUT'],
  ['invalid_params', 'VALIDATION_FAILED'],
  ['invalid_input', 'VALIDATION_FAILED'],
  ['missing_required_field', 'VALIDATION_FAILED'],
  ['invalid_field_type', 'VALIDATION_FAILED'],
  ['invalid_field_value', 'VALIDATION_FAILED'],
  ['skill_missing', 'VALIDATION_FAILED'],
  ['agent_not_found', 'VALIDATION_FAILED'],
  ['capability_not_found', 'VALIDATION_FAILED'],
  ['task_graph_cycle', 'VALIDATION_FAILED'],
  ['mcp_auth_failed', 'UNAUTHORIZED'],
  ['knowledge_not_found', 'DATA_UNAVAILABLE'],
]);

/** Whether it is tried again stands beside it, whatever the code. */
export const toAgentOsErrorCode = (code: string): AgentOsErrorCode => {
  if (isAgentOsErrorCode(code)) return code;
  const lower = code.toLowerCase();
  return lower === 'cancelled' ? 'CANCELLED' : (NEAREST_CODES.get(lower) ?? 'SOURCE_ERROR');
};
