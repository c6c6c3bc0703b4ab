import { ERROR_CODES, type ErrorCodeRow } from './error-codes.ts';
import type { JsonObject } from './json/json.ts';

export type ParleyErrorCode = keyof typeof ERROR_CODES;

const statuses = Object.entries(ERROR_CODES).map(([code, { status }]) => [code, status]);
export const STATUS_BY_CODE: Readonly<Record<ParleyErrorCode, number>> = Object.fromEntries(statuses);

export interface Issue {
  path: string;
  message: string;
}

/** Every refusal and failure that a caller is meant to see. The thrower decides whether trying again can help. */
export class ParleyError extends Error {
  readonly code: ParleyErrorCode;
  readonly retryable: boolean;
  readonly issues: Issue[] | undefined;
  /** Facts that explain the error, such as the holder of a task: they become members of the problem. */
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

/** Trying the same again cannot help. What is not a refusal of ours may pass. */
export const isPermanent = (error: unknown): error is ParleyError => error instanceof ParleyError && !error.retryable;
