import { ERROR_CODES, type ErrorCodeRow } from './error-codes.ts';
import type { JsonObject } from './json/json.ts';

export type ParleyErrorCode = keyof typeof ERROR_CODES;

const statuses = Object.entries(ERROR_CODES).map(([code, { status }]) => [code, status]);
export const STATUS_BY_CODE: Readonly<Record<ParleyErrorCode, number>> = Object.fromEntries(statuses);

export interface Issue {
  path: string;
  message: string;
}

export class ParleyError extends Error {
  readonly code: ParleyErrorCode;
  readonly retryable: boolean;
  readonly issues: Issue[] | undefined;
  /** Become members of the problem document. */
  readonly details: JsonObject;

  constructor(
    code: ParleyErrorCode,
    message: string,
    options: { issues?: Issue[]; details?: JsonObject; retryable?: boolean; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ParleyError';
    this.code = code;
    const { retryable = false }: ErrorCodeRow = ERROR_CODES[code];
    this.retryable = options.retryable ?? retryable;
    this.issues = options.issues;
    this.details = options.details ?? {};
  }
}

export const isPermanent = (error: unknown): error is ParleyError => error instanceof ParleyError && !error.retryable;
