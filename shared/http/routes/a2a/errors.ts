import { ParleyError, type ParleyErrorCode, STATUS_BY_CODE } from '../../../kernel/errors.ts';
import type { JsonObject } from '../../../kernel/json/json.ts';
import { JSON_RPC_CODES } from '../../../kernel/json-rpc.ts';
import { toPublicError } from '../../problem.ts';

interface ErrorKind {
  code: number;
  http: number;
  /** Of `google.rpc.Code`. */
  status: string;
}

/** By the reason that A2A gives them. */
const KINDS = {
  TASK_NOT_FOUND: { code: -32001, http: 404, status: 'NOT_FOUND' },
  TASK_NOT_CANCELABLE: { code: -32002, http: 400, status: 'FAILED_PRECONDITION' },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { code: -32003, http: 400, status: 'FAILED_PRECONDITION' },
  UNSUPPORTED_OPERATION: { code: -32004, http: 400, status: 'FAILED_PRECONDITION' },
  CONTENT_TYPE_NOT_SUPPORTED: { code: -32005, http: 400, status: 'INVALID_ARGUMENT' },
  VERSION_NOT_SUPPORTED: { code: -32009, http: 400, status: 'FAILED_PRECONDITION' },
  EXTENSION_SUPPORT_REQUIRED: { code: -32008, http: 400, status: 'FAILED_PRECONDITION' },
  METHOD_NOT_FOUND: { code: JSON_RPC_CODES.methodNotFound, http: 404, status: 'UNIMPLEMENTED' },
  INVALID_REQUEST: { code: JSON_RPC_CODES.invalidRequest, http: 400, status: 'INVALID_ARGUMENT' },
  INVALID_PARAMS: { code: JSON_RPC_CODES.invalidParams, http: 400, status: 'INVALID_ARGUMENT' },
  PARSE_ERROR: { code: JSON_RPC_CODES.parseError, http: 400, status: 'INVALID_ARGUMENT' },
} as const satisfies Record<string, ErrorKind>;
type Reason = keyof typeof KINDS;

/** An error that A2A has a name for. */
export class A2aError extends Error {
  readonly reason: Reason;
  readonly metadata: Record<string, string>;

  constructor(reason: Reason, message: string, metadata: Record<string, string> = {}) {
    super(message);
    this.reason = reason;
    this.metadata = metadata;
  }
}

/** An error as both bindings send it. */
export interface EncodedError extends ErrorKind {
  message: string;
  details: JsonObject[];
  headers: Record<string, string>;
}

const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';
const BAD_REQUEST = 'type.googleapis.com/google.rpc.BadRequest';
const A2A_DOMAIN = 'a2a-protocol.org';
const OWN_DOMAIN = 'parley';

const REASON_BY_CODE: Partial<Record<ParleyErrorCode, Reason>> = {
  task_not_found: 'TASK_NOT_FOUND',
  task_ended: 'UNSUPPORTED_OPERATION',
  not_waiting: 'UNSUPPORTED_OPERATION',
  invalid_json: 'PARSE_ERROR',
};

export const toEncodedError = (thrown: unknown): EncodedError => {
  if (thrown instanceof A2aError) {
    const { reason, message, metadata } = thrown;
    return { ...KINDS[reason], message, details: [buildInfo(reason, A2A_DOMAIN, metadata)], headers: {} };
  }
  const error = toPublicError(thrown);
  const { code, message, issues, retryable, details } = error;
  const reason = REASON_BY_CODE[code];
  const kind = reason ? KINDS[reason] : toKind(STATUS_BY_CODE[code], retryable);
  const isOfProtocol = reason !== undefined && reason !== 'PARSE_ERROR';
  const violations = issues?.map((issue) => ({ field: issue.path, description: issue.message })) ?? [];
  return {
    ...kind,
    message: violations.length > 0 ? `${message} ${describeIssues(violations)}` : message,
    details: [
      buildInfo(isOfProtocol ? reason : code.toUpperCase(), isOfProtocol ? A2A_DOMAIN : OWN_DOMAIN, {}),
      ...(violations.length > 0 ? [{ '@type': BAD_REQUEST, fieldViolations: violations }] : []),
    ],
    headers: retryable ? { 'retry-after': String(details.retryAfterSeconds ?? 1) } : {},
  };
};

const describeIssues = (violations: { field: string; description: string }[]): string =>
  violations.map(({ field, description }) => `${field || 'It'} ${description}.`).join(' ');

const buildInfo = (reason: string, domain: string, metadata: Record<string, string>): JsonObject => ({
  '@type': ERROR_INFO,
  reason,
  domain,
  metadata,
});

/** Of an error that A2A has no name for. */
const toKind = (http: number, isRetryable: boolean): ErrorKind => {
  if (http === 401) return { code: JSON_RPC_CODES.invalidRequest, http, status: 'UNAUTHENTICATED' };
  if (http === 403) return { code: JSON_RPC_CODES.invalidRequest, http, status: 'PERMISSION_DENIED' };
  if (http === 404) return { code: JSON_RPC_CODES.invalidParams, http, status: 'NOT_FOUND' };
  if (isRetryable || http === 503) return { code: JSON_RPC_CODES.internalError, http, status: 'UNAVAILABLE' };
  if (http >= 500) return { code: JSON_RPC_CODES.internalError, http, status: 'INTERNAL' };
  return { code: JSON_RPC_CODES.invalidParams, http, status: http === 409 ? 'ALREADY_EXISTS' : 'INVALID_ARGUMENT' };
};

/** Whether a call may succeed if its server is asked again, or with another key: HTTP says so too. */
export const isTransportError = ({ http }: EncodedError): boolean => http === 401 || http === 429 || http >= 500;

export const agentNotFoundError = (agent: string): ParleyError =>
  new ParleyError('agent_not_found', `There is no agent ${agent}.`);
