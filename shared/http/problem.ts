import { ParleyError, STATUS_BY_CODE } from '../kernel/errors.ts';
import type { JsonObject } from '../kernel/json/json.ts';

interface ProblemResponse {
  status: number;
  body: JsonObject;
}

/** An error as RFC 9457 tells it, with a code that programs can rely on. */
export const toProblem = (error: ParleyError): ProblemResponse => {
  const status = STATUS_BY_CODE[error.code];
  return {
    status,
    body: {
      ...error.details,
      type: `urn:parley:problem:${error.code}`,
      title: STATUS_TITLES[status] ?? 'Error',
      status,
      detail: error.message,
      code: error.code,
      retryable: error.retryable,
      issues: error.issues?.map(({ path, message }) => ({ path, message })),
    },
  };
};

const STATUS_TITLES: Record<number, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  417: 'Expectation Failed',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
};

/** What the caller may know of an error; anything unforeseen is only said to have happened. */
export const toPublicError = (error: unknown): ParleyError =>
  error instanceof ParleyError
    ? error
    : new ParleyError('internal', 'Something unforeseen went wrong. It has been logged.', { cause: error });
