import { type Issue, ParleyError } from '../../errors.ts';
import type { JsonObject } from '../../json/json.ts';

/** The rules of the document, by the fields that can break them. Whether an agent exists only the registry knows. */
const RULES: [rule: string, isBroken: (issue: Issue) => boolean][] = [
  ['uuid_format', ({ path }) => path === 'id' || path === 'replyTo'],
  ['timestamp_format', ({ path }) => path === 'timestamp'],
  ['confidence_range', ({ path }) => path === 'evidence.confidence'],
  ['evidence_chain', ({ path }) => path === 'evidence' || path.startsWith('evidence.')],
  ['agent_ids', ({ path }) => /^(from|to)\.agentId$/.test(path)],
];

const REQUIRED = ['id', 'timestamp', 'version', 'from', 'to', 'type', 'payload'];

/** A message that breaks the document's rules is told which, with the document's own code. */
export const withRules = <T>(wire: JsonObject, understand: () => T): T => {
  try {
    return understand();
  } catch (error) {
    if (!(error instanceof ParleyError) || !error.issues) throw error;
    const { code, message, issues, cause } = error;
    const rules = [...new Set(issues.flatMap((issue) => rulesBrokenBy(wire, issue)))];
    const agentOs = { code: 'VALIDATION_FAILED', recoverable: false, rules };
    throw new ParleyError(code, message, { issues, cause, facts: { ...error.facts, agentOs } });
  }
};

const rulesBrokenBy = (wire: JsonObject, issue: Issue): string[] => {
  if (REQUIRED.includes(issue.path) && wire[issue.path] === undefined) return ['required_fields'];
  const broken = RULES.find(([, isBroken]) => isBroken(issue));
  return broken ? [broken[0]] : [];
};
