import { assertCoordinator } from '../../identity/agents/agent-control.ts';
import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { mapConcurrent } from '../../kernel/concurrency.ts';
import { isPermanent, ParleyError } from '../../kernel/errors.ts';
import { toUuid, uuidFromSeed } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { assertMaxSize, type Json } from '../../kernel/json/json.ts';
import { assertSameMessage } from '../../kernel/same-request.ts';
import { pickCallTrace, type Trace } from '../../kernel/trace.ts';
import { type Broadcast, type BroadcastCommand, broadcastRef } from '../../model/broadcast.ts';
import type { Command } from '../../model/command.ts';
import type { Effect } from '../../model/effect.ts';
import { buildBroadcastRelay } from '../../nats/relay-item.ts';
import { equals } from '../../ports/conditions.ts';
import type { NewItem, RecordChange } from '../../ports/records.ts';
import { createTask } from '../../tasks/commands/create-task.ts';
import { sendDirectMessage } from '../direct-messages/send-direct-message.ts';
import { assertKnownAudience, listNextRecipients } from './audience.ts';

/** Stores the message. Recipients get it page by page, also after a crash. */
export const createBroadcast = async (
  deps: Deps,
  caller: Caller,
  {
    audience,
    dialect,
    trace,
    isAlreadyPublished,
  }: Pick<Broadcast, 'audience' | 'dialect' | 'isAlreadyPublished'> & { trace: Trace },
  command: Command,
): Promise<{ duplicate: boolean }> => {
  const { project } = caller;
  assertCoordinator(caller, 'speak to many at once');
  assertKnownAudience(deps, project, audience);
  if (command.kind !== 'directMessage' && command.kind !== 'request') {
    throw new ParleyError('invalid_request', 'Only a request or a message that is about no task can go to many.');
  }
  const { messageId: id, from, fingerprint } = command;
  assertMaxSize('A message to many', command, deps.config.limits.extensionBytes);
  const now = deps.clock.now();
  const fresh: NewItem<Broadcast> = {
    ...broadcastRef(project, id),
    ...{ sk: 'broadcast', project, id, from, dialect, audience, isAlreadyPublished, command, fingerprint },
    ...pickCallTrace(trace),
    ...{ createdAt: now, deliveredCount: 0, failedCount: 0, due: now },
  };
  const created = await deps.records.create<Broadcast>(fresh, deps.newId());
  if (created.outcome === 'written') return { duplicate: false };
  assertSameMessage(created.existing, command);
  return { duplicate: true };
};

const CONCURRENCY = 25;

/** A repeated page reaches nobody twice: the message ids are derived. */
export const onBroadcastTimer = async (deps: Deps, record: Broadcast): Promise<void> => {
  const { command } = record;
  const { recipients, after } = await listNextRecipients(deps, record);
  const sent = await mapConcurrent(recipients, CONCURRENCY, (to) => sendToRecipient(deps, record, command, to));
  const unreached = sent.filter((isIn) => !isIn).length;
  const now = deps.clock.now();
  await deps.records.update(
    broadcastRef(record.project, record.id),
    {
      if: equals('v', record.v),
      add: { deliveredCount: recipients.length - unreached, failedCount: unreached },
      set:
        after === undefined
          ? { completedAt: now, expires: now + deps.config.tasks.retentionMs }
          : { cursor: after, due: Math.max(now, (record.due ?? 0) + 1) },
      unset: after === undefined ? ['due'] : [],
    },
    deps.newId(),
  );
};

const sendToRecipient = async (
  deps: Deps,
  record: Broadcast,
  command: BroadcastCommand,
  to: string,
): Promise<boolean> => {
  const { project, dialect, audience, isAlreadyPublished } = record;
  const trace = pickCallTrace(record);
  const isPartialAudience = audience !== 'all' && !isAlreadyPublished;
  try {
    const own = addressCommand(command, to);
    if (own.kind === 'directMessage')
      await sendDirectMessage(deps, { project, dialect, trace, isVisible: true, isPartialAudience }, own);
    else await createTask(deps, { project, role: 'admin' }, dialect, own, trace);
    return true;
  } catch (error) {
    // A full inbox must not block the others.
    if (isPermanent(error) || (error instanceof ParleyError && error.code === 'inbox_full')) return false;
    throw error;
  }
};

/** The message for one recipient, under an id with the same first digits. */
const addressCommand = (command: BroadcastCommand, to: string): BroadcastCommand => {
  const messageId = uuidFromSeed(['recipient', command.messageId, to], toUuid(command.messageId).slice(0, 8));
  const sent = command.sequenceInfo && { ...command.sequenceInfo, to };
  const own = { messageId, to, sequenceInfo: sent, fingerprint: computeFingerprint([command.fingerprint, to]) };
  return command.kind === 'directMessage' ? { ...command, ...own } : { ...command, ...own, taskId: messageId };
};

/** Publishes the start and the end. */
export const computeBroadcastEffects = ({ before, after }: RecordChange<Broadcast>): Effect[] => {
  if (!after) return [];
  const isNew = before === undefined;
  if (!isNew && (after.completedAt === undefined || before.completedAt !== undefined)) return [];
  const { id, project, from, audience, deliveredCount, failedCount, v, at, createdAt } = after;
  const type = isNew ? 'broadcast.sent' : 'broadcast.done';
  const counts: Json = isNew ? {} : { delivered: deliveredCount, failed: failedCount, tookMs: at - createdAt };
  const data = { messageId: id, from, audience, ...counts };
  const auditEntry: Effect = {
    kind: 'publish',
    event: { id: `broadcast/${id}:${v}:${type}`, project, type, at, data },
  };
  return isNew && audience === 'all'
    ? [auditEntry, { kind: 'relay', message: buildBroadcastRelay(after) }]
    : [auditEntry];
};
