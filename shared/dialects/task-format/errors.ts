import type { TaskError } from '../../tasks/task.ts';

/** Three times again after 1, 2 and 4 seconds; twice again after 1 and 2. */
const SYSTEM = { retryable: true, attempts: 4, backoff: 'exponential' } as const;
const COORDINATION = { retryable: true, attempts: 3, backoff: 'linear' } as const;
const FINAL = { retryable: false } as const;

type Rule = Pick<TaskError, 'retryable' | 'attempts' | 'backoff'>;

/** The standard codes, each with whether and how it is tried again. Agents may use others. */
export const ERROR_CODES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['INVALID_INPUT', FINAL],
  ['MISSING_REQUIRED_FIELD', FINAL],
  ['INVALID_FIELD_TYPE', FINAL],
  ['INVALID_FIELD_VALUE', FINAL],
  ['AGENT_NOT_FOUND', FINAL],
  ['CAPABILITY_NOT_FOUND', FINAL],
  ['TASK_GRAPH_CYCLE', FINAL],
  ['KNOWLEDGE_NOT_FOUND', FINAL],
  ['AGENT_UNAVAILABLE', SYSTEM],
  ['AGENT_BUSY', SYSTEM],
  ['MCP_NOT_CONNECTED', SYSTEM],
  ['MCP_AUTH_FAILED', SYSTEM],
  ['MCP_RATE_LIMITED', SYSTEM],
  ['MCP_ERROR', SYSTEM],
  ['COORDINATION_FAILED', COORDINATION],
  ['DELEGATION_FAILED', COORDINATION],
  ['TIMEOUT', SYSTEM],
  ['INTERNAL_ERROR', SYSTEM],
  ['RATE_LIMITED', SYSTEM],
]);

/** As many attempts as the most patient of them needs. */
export const MAX_ATTEMPTS = SYSTEM.attempts;

/** A holder that says `cancelled` gives the task up for good. */
export const GIVEN_UP = 'CANCELLED';

/** Who fails may give up where a standard code allows another try, but not the other way round. */
export const ruleFor = (code: string, recoverable: boolean | undefined): Rule => {
  const rule = ERROR_CODES.get(code);
  if (!rule) return { retryable: recoverable === true };
  return { ...rule, retryable: rule.retryable && recoverable !== false };
};

/** What other dialects, and Parley itself, call it. A code that is in neither table stays what it is. */
const NEAREST: ReadonlyMap<string, string> = new Map([
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
  ['FABRICATION_DETECTED', 'INVALID_INPUT'],
  ['SAFETY_VIOLATION', 'INVALID_INPUT'],
  ['UNAUTHORIZED', 'CAPABILITY_NOT_FOUND'],
]);

export const nearestCode = (code: string): string => NEAREST.get(code) ?? code;
