import type { TaskError } from '../../model/task.ts';

/** Three times again after 1, 2 and 4 seconds; twice again after 1 and 2. */
const SYSTEM_RULE = { retryable: true, attempts: 4, backoff: 'exponential' } as const;
const COORDINATION_RULE = { retryable: true, attempts: 3, backoff: 'linear' } as const;
const FINAL_RULE = { retryable: false } as const;

type RetryRule = Pick<TaskError, 'retryable' | 'attempts' | 'backoff'>;

/** The standard codes, each with whether and how it is tried again. Agents may use others. */
export const TASK_FORMAT_ERROR_CODES: ReadonlyMap<string, RetryRule> = new Map<string, RetryRule>([
  ['INVALID_INPUT', FINAL_RULE],
  ['MISSING_REQUIRED_FIELD', FINAL_RULE],
  ['INVALID_FIELD_TYPE', FINAL_RULE],
  ['INVALID_FIELD_VALUE', FINAL_RULE],
  ['AGENT_NOT_FOUND', FINAL_RULE],
  ['CAPABILITY_NOT_FOUND', FINAL_RULE],
  ['TASK_GRAPH_CYCLE', FINAL_RULE],
  ['KNOWLEDGE_NOT_FOUND', FINAL_RULE],
  ['AGENT_UNAVAILABLE', SYSTEM_RULE],
  ['AGENT_BUSY', SYSTEM_RULE],
  ['MCP_NOT_CONNECTED', SYSTEM_RULE],
  ['MCP_AUTH_FAILED', SYSTEM_RULE],
  ['MCP_RATE_LIMITED', SYSTEM_RULE],
  ['MCP_ERROR', SYSTEM_RULE],
  ['COORDINATION_FAILED', COORDINATION_RULE],
  ['DELEGATION_FAILED', COORDINATION_RULE],
  ['TIMEOUT', SYSTEM_RULE],
  ['INTERNAL_ERROR', SYSTEM_RULE],
  ['RATE_LIMITED', SYSTEM_RULE],
]);

/** As many attempts as the most patient of them needs. */
export const MAX_STANDARD_ATTEMPTS = SYSTEM_RULE.attempts;

/** Why a task is cancelled by whoever says so in a message. */
export const CANCELLED_CODE = 'CANCELLED';

/** Who fails may give up where a standard code allows another try, but not the other way round. */
export const getRetryRule = (code: string, recoverable: boolean | undefined): RetryRule => {
  const rule = TASK_FORMAT_ERROR_CODES.get(code);
  if (!rule) return { retryable: recoverable === true };
  return { ...rule, retryable: rule.retryable && recoverable !== false };
};

/** What other dialects, and Parley itself, call it. A code that is in neither table stays what it is. */
const NEAREST_CODES: ReadonlyMap<string, string> = new Map([
  ['rate_limited', 'RATE_LIMITED'],
  ['timeout', 'TIMEOUT'],
  ['model_error', 'INTERNAL_ERROR'],
  ['internal_error', 'INTERNAL_ERROR'],
  ['dependency_failed', 'COORDINATION_FAILED'],
  ['skill_missing', 'CAPABILITY_NOT_FOUND'],
  ['invalid_params', 'INVALID_INPUT'],
  ['DATA_UNAVAILABLE', 'MCP_ERROR'],
  ['SOURCE_ERROR', 'MCP_ERROR'],
  ['VALIDATION_FAILED', 'INVALID_INPUT'],
  ['FABRICATION_DETECTED', 'INTERNAL_ERROR'],
  ['SAFETY_VIOLATION', 'INTERNAL_ERROR'],
  ['UNAUTHORIZED', 'CAPABILITY_NOT_FOUND'],
]);

export const toTaskFormatErrorCode = (code: string): string => NEAREST_CODES.get(code) ?? code;
