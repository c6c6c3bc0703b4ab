import { assertCoordinator } from '../agents/agent-control.ts';
import type { Caller } from '../agents/authenticate.ts';
import { mapConcurrent } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { toUuid, uuidFromSeed } from '../ids.ts';
import { computeFingerprint } from '../json/fingerprint.ts';
import { assertMaxSize } from '../json/measure-json.ts';
import type { Command } from '../messages/command.ts';
import { idReusedError } from '../messages/deduplicate.ts';
import { sendDirectMessage } from '../notes/send-direct-message.ts';
import { equals } from '../ports/conditions.ts';
import type { NewItem } from '../ports/records.ts';
import { createTask } from '../tasks/create-task.ts';
import { pickCallTrace, type Trace } from '../trace.ts';
import { assertKnownAudience, listNextRecipients } from './audience.ts';
import { type Broadcast, type BroadcastCommand, broadcastRef } from './broadcast.ts';

/** Takes the message down for all that it is for. They get it one after the other, whatever becomes of this process. */
export const createBroadcast = async (
  deps: Deps,
  caller: Caller,
  { audience, dialect, trace, heardOnNats }: Pick<Broadcast, 'audience' | 'dialect' | 'heardOnNats'> & { trace: Trace },
  command: Command,
): Promise<{ duplicate: boolean }> => {
  const { project } = caller;
  assertCoordinator(caller, 'speak to many at once');
  assertKnownAudience(deps, project, audience);
  if (command.kind !== 'note' && command.kind !== 'request') {
    throw new ParleyError('invalid_request', 'Only a request or a message that is about no task can go to many.');
  }
  const { messageId: id, from, fingerprint: print } = command;
  assertMaxSize('A message to many', command, deps.config.limits.carriedBytes);
  const now = deps.clock.now();
  const fresh: NewItem<Broadcast> = {
    ...broadcastRef(project, id),
    ...{ sk: 'broadcast', project, id, from, dialect, audience, heardOnNats, command, fingerprint: print },
    ...pickCallTrace(trace),
    ...{ createdAt: now, reached: 0, unreached: 0, due: now },
  };
  const created = await deps.records.create<Broadcast>(fresh, deps.newId());
  if (created.outcome === 'written') return { duplicate: false };
  if (created.current?.fingerprint === print) return { duplicate: true };
  throw idReusedError(command);
};

/** So many are written to at once. */
const CONCURRENCY = 25;

/** The next page of recipients. A page that is begun again reaches everybody once: each message has an id of its own. */
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
      add: { reached: recipients.length - unreached, unreached },
      set:
        after === undefined
          ? { doneAt: now, expires: now + deps.config.tasks.keepMs }
          : { reachedUpTo: after, due: Math.max(now, (record.due ?? 0) + 1) },
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
  const { project, dialect, audience, heardOnNats } = record;
  const trace = pickCallTrace(record);
  const isToSome = audience !== 'all' && !heardOnNats;
  try {
    const own = addressCommand(command, to);
    if (own.kind === 'note') await sendDirectMessage(deps, { project, dialect, trace, isShown: true, isToSome }, own);
    else await createTask(deps, { project, role: 'admin' }, dialect, own, trace);
    return true;
  } catch (error) {
    // A full inbox must not hold up those of others.
    if (error instanceof ParleyError && (error.retry === 'never' || error.code === 'inbox_full')) return false;
    throw error;
  }
};

/** The message as if it were for this one alone, under an id that begins with the same digits. */
const addressCommand = (command: BroadcastCommand, to: string): BroadcastCommand => {
  const messageId = uuidFromSeed(['recipient', command.messageId, to], toUuid(command.messageId).slice(0, 8));
  const sent = command.sent && { ...command.sent, to };
  const own = { messageId, to, sent, fingerprint: computeFingerprint([command.fingerprint, to]) };
  return command.kind === 'note' ? { ...command, ...own } : { ...command, ...own, taskId: messageId };
};
