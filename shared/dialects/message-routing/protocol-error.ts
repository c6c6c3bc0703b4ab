import { ParleyError } from '../../kernel/errors.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { REQUIRED_MESSAGE } from '../../kernel/json/parse-or-throw.ts';

/** Whoever sent a message that is not valid is told so in the document's own shape as well. */
export const withProtocolError = <T>(wire: JsonObject, understand: () => T): T => {
  try {
    return understand();
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    const { code, message, issues, cause, details } = error;
    const messageRouting = {
      error: 'VALIDATION_FAILED',
      msg_id: typeof wire.msg_id === 'string' ? wire.msg_id.slice(0, MAX_ID_LENGTH) : null,
      issues: issues?.map((issue) => formatIssue(wire, issue.path, issue.message)) ?? [message],
      action: 'Message discarded and logged',
    };
    throw new ParleyError(code, message, { issues, cause, details: { ...details, messageRouting } });
  }
};

const MAX_ID_LENGTH = 64;

const formatIssue = (wire: JsonObject, path: string, message: string): string => {
  const isMissing = message === REQUIRED_MESSAGE || !(path in wire || path.includes('.'));
  return isMissing ? `Missing required field: ${path}` : `Invalid ${path}: ${message}`;
};
