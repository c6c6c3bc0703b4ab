import { type Issue, ParleyError, type ParleyErrorCode } from '../../kernel/errors.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { AGENT_OS_ERROR_CODES, type AgentOsErrorCode } from './error-codes.ts';

/** The rules of the document, by the fields that can break them. */
const VALIDATION_RULES: [rule: string, isBroken: (issue: Issue) => boolean][] = [
  ['uuid_format', ({ path }) => path === 'id' || path === 'replyTo'],
  ['timestamp_format', ({ path }) => path === 'timestamp'],
  ['confidence_range', ({ path }) => path === 'evidence.confidence'],
  ['evidence_chain', ({ path }) => path === 'evidence' || path.startsWith('evidence.')],
  ['agent_ids', ({ path }) => /^(from|to)\.agentId$/.test(path)],
];

/** Those of every message, and of a response what it answers. */
const REQUIRED_FIELDS = ['id', 'timestamp', 'version', 'from', 'to', 'type', 'payload', 'replyTo'];

/** A message that breaks the document's rules is told which, with the document's own code. */
export const withBrokenRules = <T>(wire: JsonObject, understand: () => T): T => {
  try {
    return understand();
  } catch (error) {
    if (!(error instanceof ParleyError) || !error.issues) throw error;
    const { code, message, issues, cause } = error;
    const rules = [...new Set(issues.flatMap((issue) => listBrokenRules(wire, issue)))];
    throw new ParleyError(code, message, {
      issues,
      cause,
      details: { ...error.details, ...buildAgentOsError('VALIDATION_FAILED', rules) },
    });
  }
};

const listBrokenRules = (wire: JsonObject, issue: Issue): string[] => {
  if (REQUIRED_FIELDS.includes(issue.path) && (wire[issue.path] ?? undefined) === undefined) return ['required_fields'];
  const broken = VALIDATION_RULES.find(([, isBroken]) => isBroken(issue));
  return broken ? [broken[0]] : [];
};

/** What only the registry, the keys and the laws can find wrong, as the document calls it. */
export const toAgentOsError = ({ code }: ParleyError): JsonObject => {
  if (code === 'unknown_agent') return buildAgentOsError('VALIDATION_FAILED', ['agent_ids']);
  const own = CODES_BY_PARLEY_CODE[code];
  return own ? buildAgentOsError(own) : {};
};

const CODES_BY_PARLEY_CODE: Partial<Record<ParleyErrorCode, AgentOsErrorCode>> = {
  fabrication_detected: 'FABRICATION_DETECTED',
  from_mismatch: 'UNAUTHORIZED',
  bad_signature: 'UNAUTHORIZED',
  not_eligible: 'UNAUTHORIZED',
  forbidden: 'UNAUTHORIZED',
};

const buildAgentOsError = (code: AgentOsErrorCode, rules?: string[]): JsonObject => ({
  agentOs: { code, recoverable: AGENT_OS_ERROR_CODES[code].recoverable, rules },
});
