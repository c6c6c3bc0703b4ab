import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import type { ViolationMessage } from '../../model/command.ts';
import type { Effect } from '../../model/effect.ts';
import { timeOrderedKey } from '../../model/task.ts';
import type { Violation } from '../../model/violation.ts';
import type { ParleyEvent } from '../../ports/events.ts';
import type { RecordChange, Ref } from '../../ports/records.ts';

const violationRef = (project: string, agent: string, messageId: string): Ref<Violation> => ({
  pk: `${project}#violation#${agent}#${messageId}`,
  sk: 'violation',
});
const violationsKey = (project: string): string => `${project}#violations`;

/** Records it once per message, and rejects the message. */
export const recordAndRejectViolation = async (
  deps: Deps,
  project: string,
  dialect: string,
  message: ViolationMessage,
): Promise<never> => {
  const { code, law, severity, action, detail, messageId, taskId, to, from, auditEntry } = message;
  const now = deps.clock.now();
  const ref = violationRef(project, from, messageId);
  await deps.records.create<Violation>(
    {
      ...ref,
      sk: 'violation',
      project,
      id: `${from}:${messageId}`,
      dialect,
      law,
      code,
      severity,
      action,
      detail,
      agent: from,
      to,
      messageId,
      taskId,
      happenedAt: now,
      auditEntry,
      expires: now + deps.config.events.retentionMs,
      byList: timeOrderedKey(violationsKey(project), now, `${from}:${messageId}`),
    },
    deps.newId(),
  );
  throw new ParleyError(code, `The message breaks the law ${law}. ${detail}`, { details: { law, severity, action } });
};

export const computeViolationEffects = ({ before, after }: RecordChange<Violation>): Effect[] =>
  before || !after ? [] : [{ kind: 'publish', event: buildViolationEvent(after) }];

const buildViolationEvent = ({ project, id, v, at, auditEntry, ...violation }: Violation): ParleyEvent => {
  const { messageId, agent: from, to, taskId, law, severity, action, code } = violation;
  return {
    id: `violation/${id}:${v}:message.blocked`,
    project,
    type: 'message.blocked',
    at,
    data: { messageId, from, to, taskId, law, severity, action, code, logged: auditEntry },
  };
};

interface ViolationPage {
  violations: Violation[];
  cursor?: string;
}

/** Newest first. */
export const listViolations = async (
  deps: Deps,
  { project }: Caller,
  { limit, cursor }: { limit: number; cursor?: string },
): Promise<ViolationPage> => {
  const violations = await deps.records.query<Violation>({
    index: 'byList',
    pk: violationsKey(project),
    after: cursor,
    newestFirst: true,
    limit,
  });
  return { violations, cursor: violations.length === limit ? violations.at(-1)?.byList?.sk : undefined };
};
