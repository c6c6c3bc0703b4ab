import type { Caller } from '../agents/authenticate.ts';
import { refuseUnlessCoordinator } from '../agents/orders.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { asUuid, idFrom } from '../ids.ts';
import { fingerprint } from '../json/fingerprint.ts';
import { refuseTooLarge } from '../json/size.ts';
import type { Command } from '../messages/command.ts';
import { idReused } from '../messages/said-once.ts';
import { sendNote } from '../notes/send-note.ts';
import { is } from '../ports/conditions.ts';
import type { Fresh } from '../ports/records.ts';
import { sideBySide } from '../side-by-side.ts';
import { submit } from '../tasks/submit.ts';
import type { Trace } from '../trace.ts';
import { nextRecipients, refuseUnknownAudience } from './audience.ts';
import { type Broadcast, broadcastRef, type ToMany } from './broadcast.ts';

/** Takes the message down for all that it is for. They get it one after the other, whatever becomes of this process. */
export const broadcast = async (
  deps: Deps,
  caller: Caller,
  { audience, dialect, trace, heardOnNats }: Pick<Broadcast, 'audience' | 'dialect' | 'heardOnNats'> & { trace: Trace },
  command: Command,
): Promise<{ duplicate: boolean }> => {
  const { project } = caller;
  refuseUnlessCoordinator(caller, 'speak to many at once');
  refuseUnknownAudience(deps, project, audience);
  if (command.kind !== 'note' && command.kind !== 'request') {
    throw new ParleyError('invalid_request', 'Only a request or a message that is about no task can go to many.');
  }
  const { messageId: id, from, fingerprint: print } = command;
  refuseTooLarge('A message to many', command, deps.config.limits.carriedBytes);
  const now = deps.clock.now();
  const fresh: Fresh<Broadcast> = {
    ...broadcastRef(project, id),
    ...{ sk: 'broadcast', project, id, from, dialect, audience, heardOnNats, command, fingerprint: print, ...trace },
    ...{ createdAt: now, reached: 0, unreached: 0, due: now },
  };
  const created = await deps.records.create<Broadcast>(fresh, deps.newId());
  if (created.outcome === 'written') return { duplicate: false };
  if (created.current?.fingerprint === print) return { duplicate: true };
  throw idReused(command);
};

/** So many are written to at once. */
const AT_ONCE = 25;

/** The next page of recipients. A page that is begun again reaches everybody once: each message has an id of its own. */
export const onBroadcastDue = async (deps: Deps, record: Broadcast): Promise<void> => {
  const { command } = record;
  const { recipients, after } = await nextRecipients(deps, record);
  const sent = await sideBySide(recipients, AT_ONCE, (to) => isReached(deps, record, command, to));
  const unreached = sent.filter((isIn) => !isIn).length;
  const now = deps.clock.now();
  await deps.records.update(
    broadcastRef(record.project, record.id),
    {
      if: is('v', record.v),
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

const isReached = async (deps: Deps, record: Broadcast, command: ToMany, to: string): Promise<boolean> => {
  const { project, dialect, audience, heardOnNats, traceparent, tracestate } = record;
  const trace = { traceparent, tracestate };
  const isToSome = audience !== 'all' && !heardOnNats;
  try {
    const own = addressed(command, to);
    if (own.kind === 'note') await sendNote(deps, { project, dialect, trace, isShown: true, isToSome }, own);
    else await submit(deps, { project, role: 'admin' }, dialect, own, trace);
    return true;
  } catch (error) {
    // A full inbox must not hold up those of others.
    if (error instanceof ParleyError && (error.retry === 'never' || error.code === 'inbox_full')) return false;
    throw error;
  }
};

/** The message as if it were for this one alone, under an id that begins with the same digits. */
const addressed = (command: ToMany, to: string): ToMany => {
  const messageId = idFrom(`${command.messageId}>${to}`, asUuid(command.messageId).slice(0, 8));
  const sent = command.sent && { ...command.sent, to };
  const own = { messageId, to, sent, fingerprint: fingerprint([command.fingerprint, to]) };
  return command.kind === 'note' ? { ...command, ...own } : { ...command, ...own, taskId: messageId };
};
