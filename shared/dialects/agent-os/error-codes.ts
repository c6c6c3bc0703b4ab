import type { TaskError } from '../../model/task.ts';

/** The codes of the document, and whether what failed may be tried again. */
export const AGENT_OS_ERROR_CODES = {
  DATA_UNAVAILABLE: { recoverable: true },
  SOURCE_ERROR: { recoverable: true },
  VALIDATION_FAILED: { recoverable: false },
  TIMEOUT: { recoverable: true },
  FABRICATION_DETECTED: { recoverable: false },
  SAFETY_VIOLATION: { recoverable: false },
  UNAUTHORIZED: { recoverable: false },
} as const;

export type AgentOsErrorCode = keyof typeof AGENT_OS_ERROR_CODES;
export const AGENT_OS_ERROR_CODE_NAMES = [
  'DATA_UNAVAILABLE',
  'SOURCE_ERROR',
  'VALIDATION_FAILED',
  'TIMEOUT',
  'FABRICATION_DETECTED',
  'SAFETY_VIOLATION',
  'UNAUTHORIZED',
] as const satisfies readonly AgentOsErrorCode[];

/** The nearest to what other dialects say, by their codes in lower case. */
const NEAREST_CODES: ReadonlyMap<string, AgentOsErrorCode> = new Map<string, AgentOsErrorCode>([
  ['timeout', 'TIMEOUT'],
  ['invalid_params', 'VALIDATION_FAILED'],
  ['invalid_input', 'VALIDATION_FAILED'],
  ['missing_required_field', 'VALIDATION_FAILED'],
  ['invalid_field_type', 'VALIDATION_FAILED'],
  ['invalid_field_value', 'VALIDATION_FAILED'],
  ['mcp_auth_failed', 'UNAUTHORIZED'],
  ['knowledge_not_found', 'DATA_UNAVAILABLE'],
]);

/** A code that has no neighbour keeps at least whether trying again can help. */
export const toAgentOsErrorCode = ({ code, retryable }: Pick<TaskError, 'code' | 'retryable'>): AgentOsErrorCode => {
  const own = AGENT_OS_ERROR_CODE_NAMES.find((name) => name === code);
  return own ?? NEAREST_CODES.get(code.toLowerCase()) ?? (retryable ? 'SOURCE_ERROR' : 'VALIDATION_FAILED');
};
