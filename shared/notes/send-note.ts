import { find } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { inboxOrder, inboxPk } from '../inbox/delivery.ts';
import { refuseTooLarge } from '../json/size.ts';
import type { NoteMessage } from '../messages/command.ts';
import type { Fresh } from '../ports/records.ts';
import { discarded, kept } from '../tasks/content.ts';
import type { Content } from '../tasks/task.ts';
import { childOf, type Trace } from '../trace.ts';
import { type Note, noteRef } from './note.ts';
import { ticketPlace } from './tickets.ts';

/** In whose name and language a note is sent, and whether its recipient is shown it. */
interface Sending {
  project: string;
  dialect: string;
  trace: Trace;
  isShown: boolean;
}

/** Puts the message into its recipient's inbox, or only keeps it, or finds that it came before. */
export const sendNote = async (deps: Deps, sending: Sending, message: NoteMessage): Promise<{ duplicate: boolean }> => {
  const { project } = sending;
  const { inputBytes, carriedBytes } = deps.config.limits;
  refuseTooLarge('The content of the message', message.content, inputBytes);
  refuseTooLarge('What the message carries beside it', message.carried, carriedBytes);
  if (!(await find(deps, project, message.to))) {
    // What was accepted once stays accepted, though its recipient may be gone by now.
    const accepted = await deps.records.get(noteRef(project, message.from, message.messageId));
    if (accepted?.fingerprint === message.fingerprint) return { duplicate: true };
    throw new ParleyError(
      'unknown_agent',
      `No agent ${message.to} is registered, so that nobody would ever read this.`,
    );
  }
  const content = await kept(deps, project, message.messageId, message.content);
  const created = await deps.records.create<Note>(newNote(deps, sending, message, content), deps.newId());
  if (created.outcome === 'written') return { duplicate: false };
  await discarded(deps.blobs, content);
  if (created.current?.fingerprint === message.fingerprint) return { duplicate: true };
  throw new ParleyError(
    'id_reused',
    `An earlier message with the id ${message.messageId} had other content. Repeat a message unchanged; give a new one a new id.`,
  );
};

const newNote = (
  deps: Deps,
  { project, dialect, trace, isShown }: Sending,
  message: NoteMessage,
  content: Content,
): Fresh<Note> => {
  const now = deps.clock.now();
  const deadline = now + message.ttlSeconds * 1000;
  return {
    ...noteRef(project, message.from, message.messageId),
    sk: 'note',
    project,
    id: message.messageId,
    dialect,
    from: message.from,
    to: message.to,
    type: message.type,
    priority: message.priority,
    createdAt: now,
    ttlSeconds: message.ttlSeconds,
    deadline,
    correlation: message.correlation,
    content,
    carried: message.carried,
    // A message that nobody is shown was something else, and has been told of there.
    told: isShown ? message.told : undefined,
    fingerprint: message.fingerprint,
    ...childOf(trace),
    ...(message.ticket
      ? { held: ticketPlace({ project, from: message.from, id: message.messageId }, 'open', now) }
      : { expires: Math.max(deadline, now + deps.config.tasks.keepMs) }),
    ...(isShown && {
      due: deadline,
      placed: { p: inboxPk(project, message.to), s: inboxOrder(now, message.messageId) },
    }),
  };
};
