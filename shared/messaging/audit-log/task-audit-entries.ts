import { getEncoder } from '../../dialects/encoder-registry.ts';
import { getDialect } from '../../dialects/registry.ts';
import { toCanonicalId } from '../../kernel/ids.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { buildOutcome, type Delivery, type TaskOutcome } from '../../model/delivery.ts';
import type { Task, TaskEventType } from '../../model/task.ts';
import type { NewItem } from '../../ports/records.ts';

/**
 * Audit fields of an event: the message, if its sender's dialect is audited, or else what the requester or holder
 * received, if theirs is.
 */
export const buildTaskAuditFields = (type: TaskEventType, task: Task, deliveries: NewItem<Delivery>[]): JsonObject => {
  const waitedMs = task.at - task.createdAt;
  const message = getSentEntry(type, task);
  const isTold = message !== undefined && type !== 'task.expired';
  const received = isTold || !isAuditedFor(task, true) ? [] : buildReceivedEntries(type, task, deliveries);
  return {
    logged: message && { ...message, waitedMs },
    delivered: received.length > 0 ? received.map((one) => ({ ...one, waitedMs })) : undefined,
  };
};

/** For messages to the requester, and to the holder. */
const isAuditedFor = ({ auditEntry, holderLogDialect, requesterLogDialect }: Task, isRequester: boolean): boolean =>
  auditEntry !== undefined || holderLogDialect !== undefined || (isRequester && requesterLogDialect !== undefined);

const getSentEntry = (type: TaskEventType, task: Task): JsonObject | undefined => {
  switch (type) {
    case 'task.requested':
      return task.v === 1 ? task.auditEntry : undefined;
    case 'task.claimed':
      return task.auditEntry;
    case 'task.expired':
      // Its former holder has it in its log.
      return task.attempt === 0 ? task.auditEntry : undefined;
    case 'task.progress':
      return task.progress?.auditEntry;
    case 'task.completed':
    case 'task.failed':
    case 'task.cancelled':
      return getOutcomeAuditEntry(task, task.endMessage?.id);
    case 'task.retrying':
    case 'task.input_required':
      return getOutcomeAuditEntry(task, task.processedMessages?.at(-1)?.id);
    default:
      return undefined;
  }
};

/** An earlier attempt may have ended with an audited message, and this one without. */
const getOutcomeAuditEntry = (
  { outcomeAuditEntry: auditEntry }: Task,
  id: string | undefined,
): JsonObject | undefined =>
  id !== undefined && toCanonicalId(String(auditEntry?.id)) === id ? auditEntry : undefined;

/** By a claim, as progress of the task, or in an inbox. */
const buildReceivedEntries = (type: TaskEventType, task: Task, deliveries: NewItem<Delivery>[]): JsonObject[] => {
  const {
    id,
    from,
    holder,
    processedMessages,
    dialect,
    holderLogDialect = dialect,
    requesterLogDialect = dialect,
  } = task;
  if (type === 'task.claimed') {
    if (!isAuditedFor(task, false)) return [];
    const { type: called = 'request' } = getEncoder(getDialect(holderLogDialect)).encodeRequest(task, null);
    return [{ id, from, to: holder, type: called }];
  }
  if (type === 'task.progress') {
    const { type: called = 'progress' } = getEncoder(getDialect(requesterLogDialect)).encodeReport(task);
    return [{ id: processedMessages?.at(-1)?.id, from: holder, to: from, type: called }];
  }
  // Also if the outcome is part of a batch.
  const outcomes = task.endMessage ? [buildOutcome(task, from)] : deliveries.flatMap(({ outcome }) => outcome ?? []);
  return outcomes
    .filter(({ to }) => isAuditedFor(task, to === from))
    .map((outcome) => toReceivedOutcome(outcome, outcome.to === from ? requesterLogDialect : holderLogDialect));
};

const toReceivedOutcome = (outcome: TaskOutcome, dialect: string): JsonObject => {
  const { id, from, to, status } = outcome;
  const { type = status } = getEncoder(getDialect(dialect)).encodeOutcome(outcome, undefined, undefined);
  return { id, from, to, type };
};
