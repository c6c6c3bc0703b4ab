import type { Agent, Known } from '../agents/agent.ts';
import { liveInstances, sawInstance } from '../agents/instances.ts';
import type { Batch } from '../batches/batch.ts';
import type { Deps } from '../deps.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import { ParleyError } from '../errors.ts';
import { canonicalId, SHORT_ID, shortId } from '../ids.ts';
import { iso } from '../json/iso.ts';
import type { JsonObject } from '../json/json.ts';
import { isNote, type Note } from '../notes/note.ts';
import { isOver, read as noteRead, TOMBSTONE_MS } from '../notes/note-changes.ts';
import { type Change, present } from '../ports/conditions.ts';
import type { Task } from '../tasks/task.ts';
import { leave } from './arrivals.ts';
import { type Delivery, inboxPk, messageIdIn, outcomeOf, PARLEY } from './delivery.ts';
import { batchInWords, noteInWords, outcomeInWords } from './in-words.ts';

/** A task that was completed, a delivery of what else happened to one, a message that is no task, or a batch that has ended. */
type InInbox = Task | Delivery | Note | Batch;

export interface InboxOptions {
  max: number;
  /** What is read is gone, should the answer be lost too. */
  take?: boolean;
  /** Which of the agent's instances reads, where it says so. */
  instance?: string;
  waitMs: number;
  signal?: AbortSignal;
}

/** What waits for the agent, oldest first, in its own dialect. It stays until it is acknowledged, unless it is taken at once. */
export const readInbox = async (deps: Deps, { agent }: Known, options: InboxOptions): Promise<JsonObject[]> => {
  const p = inboxPk(agent.project, agent.id);
  const until = deps.clock.now() + options.waitMs;
  if (options.instance !== undefined) await sawInstance(deps, agent, options.instance);
  const listener = options.waitMs > 0 ? deps.records.listen(p) : undefined;
  try {
    for (;;) {
      const begun = performance.now();
      const others = await otherInstances(deps, agent, options.instance);
      const found = await waiting(deps, p, options.max, others);
      const left = until - deps.clock.now();
      if (found.length > 0 || !listener || left <= 0 || options.signal?.aborted) {
        const read = await written(deps, agent, found);
        const given = options.take ? await removed(deps, read) : read;
        if (dialectNamed(agent.dialect).isMeasured) {
          deps.measure('message_read_latency_ms', performance.now() - begun);
        }
        return given.map(({ message }) => message);
      }
      await listener.heard(left, options.signal);
    }
  } finally {
    listener?.close();
  }
};

/** The first of what stands in the inbox. What nobody read in its time leaves it by itself, and may still be about to. */
const waiting = async (deps: Deps, p: string, max: number, others: string[]): Promise<InInbox[]> => {
  const isShown = (entry: InInbox): boolean =>
    (!isNote(entry) || !isOver(entry, deps.clock.now())) && !others.includes(instanceFor(entry) ?? '');
  const found: InInbox[] = [];
  let after: string | undefined;
  for (let looked = 0; looked < LOOKED_AT; looked += max) {
    const page = await deps.records.query<InInbox>({ index: 'placed', p, after, limit: max });
    found.push(...page.filter(isShown));
    if (found.length >= max || page.length < max) break;
    after = page.at(-1)?.placed?.s;
  }
  return found.slice(0, max);
};

/** What is for one of these is left to it. */
const otherInstances = async (deps: Deps, agent: Agent, own: string | undefined): Promise<string[]> =>
  own === undefined ? [] : (await liveInstances(deps, agent)).filter((instance) => instance !== own);

/** An answer goes back to the instance that asked, what the holder must know to the one that claimed, a note to the one that it names. */
const instanceFor = (entry: InInbox): string | undefined => {
  if (entry.sk === 'note') return entry.toInstance;
  if (entry.sk === 'batch') return undefined;
  if (entry.sk === 'task') return entry.fromInstance;
  const { to, task } = entry.outcome ?? {};
  return to === task?.from ? task?.fromInstance : task?.holderInstance;
};

/** What one answer holds; the rest comes with the next. */
const ANSWER_BYTES = 3 * 1024 * 1024;

interface Read {
  entry: InInbox;
  message: JsonObject;
}

/** So many contents are fetched at once: each may have 2 MB. */
const AT_ONCE = 10;

const written = async (deps: Deps, { id, dialect: name }: Agent, entries: InInbox[]): Promise<Read[]> => {
  const dialect = dialectNamed(name);
  const messages: Read[] = [];
  let bytes = 0;
  for (let at = 0; at < entries.length; at += AT_ONCE) {
    const some = entries.slice(at, at + AT_ONCE);
    const told = await Promise.all(some.map((entry) => messageIn(deps, entry, id, dialect)));
    for (const [index, entry] of some.entries()) {
      const message = told[index];
      if (!message) continue;
      bytes += JSON.stringify(message).length;
      if (messages.length > 0 && bytes > ANSWER_BYTES) return messages;
      messages.push({ entry, message });
    }
  }
  return messages;
};

const messageIn = async (
  deps: Deps,
  entry: InInbox,
  reader: string,
  dialect: Dialect,
): Promise<JsonObject | undefined> => {
  if (entry.sk === 'note') return noteInWords(deps, entry, dialect);
  if (entry.sk === 'batch') return batchInWords(deps, entry, dialect);
  const outcome = entry.sk === 'task' ? outcomeOf(entry, reader) : entry.outcome;
  return outcome && outcomeInWords(deps, entry.project, outcome, dialect);
};

/** Removes what the agent has read. Ids that are not there, or no longer, are fine. */
export const acknowledge = async (deps: Deps, { agent }: Known, ids: string[]): Promise<number> => {
  const read = await standing(deps, inboxPk(agent.project, agent.id), ids);
  return (
    await removed(
      deps,
      read.map((entry) => ({ entry })),
    )
  ).length;
};

/** Takes out of the inbox what was still there. Nobody else gets it then. */
const removed = async <T extends { entry: InInbox }>(deps: Deps, entries: T[]): Promise<T[]> => {
  const now = deps.clock.now();
  const { keepMs } = deps.config.tasks;
  const notes = entries.flatMap(({ entry }) => (isNote(entry) ? [entry] : []));
  const others = entries.flatMap(({ entry }) => (isNote(entry) ? [] : [entry]));
  const [left, written] = await Promise.all([
    leave(deps, notes, (note) => noteRead(note, now, keepMs)),
    Promise.all(
      others.map(({ pk, sk }) =>
        deps.records.update({ pk, sk }, { ...gone(sk, now), if: present('placed.s') }, deps.newId()),
      ),
    ),
  ]);
  const taken = new Set<InInbox>([...left, ...others.filter((_, at) => written[at]?.outcome === 'written')]);
  return entries.filter(({ entry }) => taken.has(entry));
};

const gone = (sk: (Task | Delivery | Batch)['sk'], now: number): Change =>
  sk === 'task' || sk === 'batch'
    ? { unset: ['placed'] }
    : { set: { expires: now + TOMBSTONE_MS }, unset: ['placed', 'outcome'] };

/** By which a message is known in a dialect whose messages have no ids of their own. */
const taskIdOf = (entry: InInbox): string | undefined => {
  if (entry.sk === 'note') return undefined;
  return entry.sk === 'task' || entry.sk === 'batch' ? entry.id : entry.outcome?.task.id;
};

/** Whoever acknowledges has read the first of what stands in the inbox, a hundred at the most. */
const LOOKED_AT = 1000;
const PAGE = 100;

/**
 * What stands in the inbox under the ids, the oldest of each: a sender may have used one twice. Eight digits are less than an id:
 * they mean a message only where no other that could have been read has them too.
 */
const standing = async (deps: Deps, p: string, ids: string[]): Promise<InInbox[]> => {
  const short = ids.filter((id) => SHORT_ID.test(id));
  // What is named exactly is taken for no other.
  const left = [...ids.filter((id) => !SHORT_ID.test(id)).map(canonicalId), ...short];
  const found: InInbox[] = [];
  const alike: InInbox[] = [];
  let after: string | undefined;
  for (let looked = 0; left.length > 0 && looked < LOOKED_AT; ) {
    const limit = after === undefined && short.length === 0 ? ids.length : PAGE;
    const page = await deps.records.query<InInbox>({ index: 'placed', p, after, limit });
    for (const entry of page) {
      after = entry.placed?.s ?? '';
      const messageId = canonicalId(messageIdIn(after));
      const at = left.findIndex((id) => [messageId, shortId(messageId), taskIdOf(entry)].includes(id));
      if (short.includes(shortId(messageId))) alike.push(entry);
      if (at < 0) continue;
      left.splice(at, 1);
      found.push(entry);
    }
    if (page.length < limit) break;
    looked += page.length;
  }
  if (alike.some((entry) => !found.includes(entry))) throw ambiguous(alike);
  return found;
};

const ambiguous = (entries: InInbox[]): ParleyError =>
  new ParleyError(
    'ambiguous_id',
    'Several messages in the inbox have the same short id. Acknowledge each by its own, as `messages` has it.',
    { facts: { messages: entries.map(described) } },
  );

/** By which its reader can tell a message from others; all stand in the order of the inbox. */
const described = (entry: InInbox): JsonObject => {
  const order = entry.placed?.s ?? '';
  return {
    id: messageIdIn(order),
    shortId: shortId(messageIdIn(order)),
    from: senderOf(entry),
    timestamp: iso(Number.parseInt(order, 10)),
    taskId: taskIdOf(entry),
  };
};

const senderOf = (entry: InInbox): string | undefined => {
  if (entry.sk === 'note') return entry.from;
  if (entry.sk === 'batch') return PARLEY;
  return entry.sk === 'task' ? outcomeOf(entry, entry.from).from : entry.outcome?.from;
};
