import { ParleyError } from '../../errors.ts';
import { REQUIRED } from '../../json/checked.ts';
import type { JsonObject } from '../../json/json.ts';

/** Whoever sent a message that is not valid is told so in the document's own shape as well. */
export const inItsWords = <T>(wire: JsonObject, understand: () => T): T => {
  try {
    return understand();
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    const { code, message, issues, cause, facts } = error;
    const messageRouting = {
      error: 'VALIDATION_FAILED',
      msg_id: typeof wire.msg_id === 'string' ? wire.msg_id.slice(0, LONGEST_ID) : null,
      issues: issues?.map((issue) => said(wire, issue.path, issue.message)) ?? [message],
      action: 'Message discarded and logged',
    };
    throw new ParleyError(code, message, { issues, cause, facts: { ...facts, messageRouting } });
  }
};

const LONGEST_ID = 64;

const said = (wire: JsonObject, path: string, message: string): string => {
  const isMissing = message === REQUIRED || !(path in wire || path.includes('.'));
  return isMissing ? `Missing required field: ${path}` : `Invalid ${path}: ${message}`;
};
