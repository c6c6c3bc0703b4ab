import { setTimeout as pause } from 'node:timers/promises';
import type { Agent } from '../agents/agent.ts';
import { find } from '../agents/authenticate.ts';
import { orderRefusal, orderWrite } from '../agents/orders.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { type Entrance, entranceTo } from '../inbox/arrivals.ts';
import { inboxOrder, inboxPk } from '../inbox/delivery.ts';
import { refuseTooLarge } from '../json/size.ts';
import type { NoteMessage } from '../messages/command.ts';
import { loggedDialectOf } from '../messages/is-logged.ts';
import { idReused } from '../messages/said-once.ts';
import type { Fresh, Write } from '../ports/records.ts';
import { discarded, kept, unlessRefused } from '../tasks/content.ts';
import { type Content, unacknowledgedPlace } from '../tasks/task.ts';
import { childOf, type Trace } from '../trace.ts';
import { isNote, isTicket, type Note, noteRef } from './note.ts';
import { evicted, nextLook } from './note-changes.ts';
import { ticketPlace } from './tickets.ts';

/** In whose name and language a note is sent, and whether its recipient is shown it. */
interface Sending {
  project: string;
  dialect: string;
  trace: Trace;
  isShown: boolean;
  isToSome?: boolean;
}

/** Puts the message into its recipient's inbox, or only keeps it, or finds that it came before. */
export const sendNote = async (deps: Deps, sending: Sending, message: NoteMessage): Promise<{ duplicate: boolean }> => {
  const { project } = sending;
  const { inputBytes, carriedBytes } = deps.config.limits;
  const said = refuseTooLarge('The content of the message', message.content, inputBytes);
  refuseTooLarge('What the message carries beside it', message.carried, carriedBytes);
  const recipient = await find(deps, project, message.to);
  if (!recipient) {
    // What was accepted once stays accepted, though its recipient may be gone by now.
    const accepted = await deps.records.get(noteRef(project, message.from, message.messageId));
    if (accepted?.fingerprint === message.fingerprint) return { duplicate: true };
    throw new ParleyError(
      'unknown_agent',
      `No agent ${message.to} is registered, so that nobody would ever read this.`,
    );
  }
  const content = await kept(deps, project, message.messageId, said);
  const note = newNote(deps, sending, recipient.agent, message, content);
  const met = await unlessRefused(deps.blobs, [content], () => written(deps, recipient.agent, note, message));
  if (met === 'written') return { duplicate: false };
  await discarded(deps.blobs, [content], [met?.content]);
  if (met?.fingerprint === message.fingerprint) return { duplicate: true };
  throw idReused(message);
};

/**
 * Senders that find the inbox full at once want the same place: each that gets it makes the others look again, after pauses that
 * grow and differ. Whoever has had no luck for so long is asked to try again.
 */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1000;

/** The note that was there before, unless this one could be written. */
const written = async (
  deps: Deps,
  recipient: Agent,
  note: Fresh<Note>,
  { order }: NoteMessage,
): Promise<'written' | Note | undefined> => {
  const { project, from, to } = note;
  let orders = order ? [orderWrite(deps, project, to, from, order)] : [];
  const isCounted = note.placed !== undefined && recipient.inboxLimit !== undefined;
  if (!isCounted && orders.length === 0) {
    const created = await deps.records.create<Note>(note, deps.newId());
    return created.outcome === 'written' ? 'written' : created.current;
  }
  const token = deps.newId();
  const until = performance.now() + PATIENCE_MS;
  for (let attempt = 0; performance.now() < until; attempt++) {
    const entrance = isCounted ? await entranceFor(deps, recipient, note) : undefined;
    if (entrance instanceof Error) return accepted(deps, note, entrance);
    const own: Write = { kind: 'create', item: { ...note, arrival: entrance?.arrival } };
    const done = await deps.records.transact([own, ...orders, ...(entrance?.writes ?? [])], token);
    if (done.outcome === 'written') {
      if (order) deps.directory.forget(project, to);
      if (entrance) tell(deps, to, entrance);
      return 'written';
    }
    if (done.at === 0) return done.current && isNote(done.current) ? done.current : undefined;
    if (order && orders.length > 0 && done.at === 1) {
      const refusal = orderRefusal(order, to);
      if (refusal) throw refusal;
      orders = [];
      continue;
    }
    await pause(Math.random() * Math.min(PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS));
  }
  throw new ParleyError('conflict', `Too many messages to ${to} at once. Try again.`, { retry: 'later' });
};

/** What was accepted once stays accepted, though there would be no room for it now. */
const accepted = async (deps: Deps, { pk, sk }: Fresh<Note>, refusal: ParleyError): Promise<Note> => {
  const earlier = await deps.records.get<Note>({ pk, sk });
  if (earlier) return earlier;
  throw refusal;
};

const entranceFor = (deps: Deps, recipient: Agent, note: Fresh<Note>) => {
  const { project, from, id } = note;
  return entranceTo(deps, recipient, { from, id, isTicket: isTicket(note) ? true : undefined }, (oldest) => ({
    kind: 'update',
    key: noteRef(project, oldest.from, oldest.id),
    // It stands in the inbox for as long as its arrival is on record.
    change: evicted(deps.clock.now(), deps.config.tasks.keepMs, oldest.isTicket ?? false),
  }));
};

/** Nothing is lost silently. */
const tell = (deps: Deps, to: string, { depth, evicted: gone }: Entrance): void => {
  deps.measure('inbox_depth', depth);
  if (!gone) return;
  deps.measure('eviction_count', 1);
  const facts = { agent: to, inboxDepth: depth, evicted: gone.id, from: gone.from };
  deps.log('warn', 'an inbox was full, and its oldest message was evicted', facts);
};

const newNote = (
  deps: Deps,
  { project, dialect, trace, isShown, isToSome }: Sending,
  recipient: Agent,
  message: NoteMessage,
  content: Content,
): Fresh<Note> => {
  const now = deps.clock.now();
  const { from, to, messageId: id, ttlSeconds, acknowledgeMs, sent } = message;
  const deadline = ttlSeconds === undefined ? undefined : now + ttlSeconds * 1000;
  const acknowledgeBy = acknowledgeMs === undefined ? undefined : now + acknowledgeMs;
  const placed = { p: inboxPk(project, to), s: inboxOrder(sent?.at ?? now, id, sent?.sequence) };
  return {
    ...noteRef(project, from, id),
    sk: 'note',
    project,
    id,
    dialect,
    from,
    to,
    toInstance: message.instance,
    type: message.type,
    priority: message.priority,
    createdAt: now,
    ttlSeconds,
    deadline,
    acknowledgeBy,
    correlation: message.correlation,
    content,
    carried: message.carried,
    // A message that nobody is shown was something else, and has been told of there.
    ...(isShown && { told: message.told, heardIn: loggedDialectOf(deps.config, recipient) }),
    fingerprint: message.fingerprint,
    ...childOf(trace),
    ...keptAs(message, project, now, deps.config.tasks.keepMs),
    ...(isShown && {
      due: nextLook({ acknowledgeBy, deadline }, now),
      // Whoever is on NATS reads no inbox.
      ...(recipient.via === 'nats' ? { toNats: isToSome ? ('with others' as const) : (true as const) } : { placed }),
    }),
  };
};

/** A ticket until it is closed; what never expires until it is read; anything else for as long as a task. */
const keptAs = (message: NoteMessage, project: string, now: number, keepMs: number) => {
  const { ticket, from, messageId: id, ttlSeconds, acknowledgeMs } = message;
  if (ticket) return { held: ticketPlace({ project, from, id }, 'open', now) };
  return {
    held: acknowledgeMs === undefined ? undefined : unacknowledgedPlace(project, from, now, id),
    expires: ttlSeconds === undefined ? undefined : now + Math.max(ttlSeconds * 1000, keepMs),
  };
};
