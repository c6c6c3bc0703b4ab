import type { Dialect } from '../../dialects/dialect.ts';
import { isAudited } from '../../dialects/is-audited.ts';
import { AGENT_ID, type Agent } from '../../identity/agents/agent.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError, type ParleyErrorCode } from '../../kernel/errors.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import type { Json, JsonObject } from '../../kernel/json/json.ts';
import type { Effect } from '../../model/effect.ts';
import type { RejectedMessage } from '../../model/rejected-message.ts';
import type { RecordChange } from '../../ports/records.ts';
import { TOMBSTONE_MS } from '../direct-messages/direct-message-changes.ts';

/** Errors of the message itself, whoever sends it. */
const VALIDATION_CODES: ReadonlySet<ParleyErrorCode> = new Set([
  'invalid_message',
  'unknown_type',
  'unsupported_version',
  'unknown_agent',
]);

/** Whether the rejection is in the audit log. */
export const isAuditedRejection = (deps: Deps, dialect: Dialect, error: unknown): error is ParleyError =>
  error instanceof ParleyError && VALIDATION_CODES.has(error.code) && isAudited(deps.config, dialect);

/** Once per message of an agent. */
export const recordRejection = async (
  deps: Deps,
  { project, id: from }: Agent,
  dialect: Dialect,
  message: JsonObject,
  error: ParleyError,
): Promise<void> => {
  const fingerprint = computeFingerprint(message);
  const { to, ...described } = dialect.describeForAudit?.(message) ?? { to: toAgentId(message.to) };
  const id = toName(dialect.listCorrelationIds?.(message)[0]) ?? fingerprint;
  try {
    await deps.records.create<RejectedMessage>(
      {
        pk: `${project}#rejected-message#${from}#${fingerprint}`,
        sk: 'rejected-message',
        project,
        from,
        to,
        code: error.code,
        auditEntry: { id, type: toName(message.type) ?? 'unknown', ...described },
        expires: deps.clock.now() + TOMBSTONE_MS,
      },
      deps.newId(),
    );
  } catch (cause) {
    // The sender gets the error in any case.
    deps.log('warn', 'rejected message not recorded', { agent: from, error: String(cause) });
  }
};

const MAX_NAME_LENGTH = 128;

const toName = (said: Json | undefined): string | undefined =>
  typeof said === 'string' ? said.slice(0, MAX_NAME_LENGTH) : undefined;

const toAgentId = (said: Json | undefined): string | undefined =>
  typeof said === 'string' && AGENT_ID.test(said) ? said : undefined;

export const computeRejectionEffects = ({ before, after }: RecordChange<RejectedMessage>): Effect[] => {
  if (before || !after) return [];
  const { pk, v, project, at, from, to, code, auditEntry } = after;
  const data = { messageId: auditEntry.id, type: auditEntry.type, from, to, code, logged: auditEntry };
  return [
    { kind: 'publish', event: { id: `${pk}:${v}:message.rejected`, project, type: 'message.rejected', at, data } },
  ];
};
