import { type Issue, ParleyError } from '../../errors.ts';

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
export const withRules = <T>(understand: () => T): T => {
  try {
    return understand();
  } catch (error) {
    if (!(error instanceof ParleyError) || !error.issues) throw error;
    const { code, message, issues, cause } = error;
    const rules = [...new Set(issues.flatMap(rulesBrokenBy))];
    const agentOs = { code: 'VALIDATION_FAILED', recoverable: false, rules };
    throw new ParleyError(code, message, { issues, cause, facts: { ...error.facts, agentOs } });
  }
};

const rulesBrokenBy = (issue: Issue): string[] => {
  const broken = RULES.find(([, isBroken]) => isBroken(issue));
  if (isMissing(issue)) return ['required_fields'];
  return broken ? [broken[0]] : [];
};

const isMissing = ({ path, message }: Issue): boolean =>
  REQUIRED.includes(path) && /received undefined|is required/.test(message);
