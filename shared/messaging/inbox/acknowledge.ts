import { getAgentDialect } from '../../dialects/registry.ts';
import type { Agent, RegisteredAgent } from '../../identity/agents/agent.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { SHORT_ID, SYSTEM_SENDER, toCanonicalId, toShortId } from '../../kernel/ids.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { buildOutcome, inboxPk, parseMessageId } from '../../model/delivery.ts';
import { toIso } from '../../ports/clock.ts';
import { hasAmbiguousId, type InboxEntry, removeEntries } from './inbox-entry.ts';

/** Idempotent: unknown ids are ignored. */
export const acknowledgeEntries = async (deps: Deps, { agent }: RegisteredAgent, ids: string[]): Promise<number> => {
  const read = await findEntries(deps, agent, ids);
  return (
    await removeEntries(
      deps,
      read.map((entry) => ({ entry })),
    )
  ).length;
};

/** For dialects whose messages have no id. */
const getTaskId = (entry: InboxEntry): string | undefined => {
  if (entry.sk === 'direct-message') return entry.taskId;
  if (entry.sk === 'task' || entry.sk === 'batch') return entry.id;
  return entry.delegation?.taskId ?? entry.outcome?.task.id;
};

/** Of entries that may have been read, at most a hundred per call. */
const MAX_ENTRIES_READ = 1000;
const PAGE_SIZE = 100;

/**
 * What stands in the inbox under the ids and was read. A message's own id means the oldest that has it: a sender may have used one
 * twice. The id of a task means all that was read of it. Eight digits are less than an id: they mean a message only where no other
 * that was read has them too.
 */
const findEntries = async (deps: Deps, agent: Agent, ids: string[]): Promise<InboxEntry[]> => {
  const left = ids.filter((id) => !SHORT_ID.test(id)).map(toCanonicalId);
  const { toShortId: shorten } = getAgentDialect(agent);
  const short = ids.flatMap((id) => (SHORT_ID.test(id) ? id : (shorten?.(id) ?? [])));
  const p = inboxPk(agent.project, agent.id);
  const found: InboxEntry[] = [];
  const ofTask: InboxEntry[] = [];
  const alike: InboxEntry[] = [];
  let after: string | undefined;
  for (let looked = 0; looked < MAX_ENTRIES_READ && left.length + short.length > 0; ) {
    const limit = after === undefined && short.length === 0 ? ids.length : PAGE_SIZE;
    const page = await deps.records.query<InboxEntry>({ index: 'byList', pk: p, after, limit });
    for (const entry of page) {
      after = entry.byList?.sk ?? '';
      const own = left.indexOf(getMessageId(entry));
      const task = left.indexOf(getTaskId(entry) ?? '');
      if (own >= 0) found.push(entry);
      else if (task >= 0) ofTask.push(entry);
      else if (short.includes(toShortId(getMessageId(entry)))) alike.push(entry);
      if (own >= 0) left.splice(own, 1);
      else if (task >= 0 && !hasAmbiguousId(entry, agent)) left.splice(task, 1);
    }
    if (page.length < limit) break;
    looked += page.length;
  }
  const [read, same] = await Promise.all([findRead(deps, agent, ofTask), findRead(deps, agent, alike)]);
  for (const digits of short) {
    const isCalled = (entry: InboxEntry): boolean => toShortId(getMessageId(entry)) === digits;
    if (same.filter(isCalled).length > short.filter((one) => one === digits).length) {
      throw ambiguousMessageIdError([...found, ...read, ...same].filter(isCalled));
    }
  }
  return [...found, ...read, ...same];
};

const getMessageId = (entry: InboxEntry): string => toCanonicalId(parseMessageId(entry.byList?.sk ?? ''));

/** The index may lag. */
const findRead = async (deps: Deps, agent: Agent, entries: InboxEntry[]): Promise<InboxEntry[]> => {
  const unsure = entries.filter((entry) => hasAmbiguousId(entry, agent) && !entry.isRead);
  const current =
    unsure.length > 0 ? await deps.records.getMany<InboxEntry>(unsure.map(({ pk, sk }) => ({ pk, sk }))) : [];
  const isMarked = ({ pk, sk }: InboxEntry): boolean =>
    current.some((entry) => entry.pk === pk && entry.sk === sk && entry.isRead);
  return entries.filter((entry) => !unsure.includes(entry) || isMarked(entry));
};

const ambiguousMessageIdError = (entries: InboxEntry[]): ParleyError =>
  new ParleyError(
    'ambiguous_id',
    'Several messages in the inbox have the same short id. Acknowledge each by its own, as `messages` has it.',
    { details: { messages: entries.map(describeEntry) } },
  );

/** What identifies a message to its reader. All of it is in the sort key of the inbox. */
const describeEntry = (entry: InboxEntry): JsonObject => {
  const sortKey = entry.byList?.sk ?? '';
  return {
    id: parseMessageId(sortKey),
    shortId: toShortId(parseMessageId(sortKey)),
    from: getSender(entry),
    timestamp: toIso(Number.parseInt(sortKey, 10)),
    taskId: getTaskId(entry),
  };
};

const getSender = (entry: InboxEntry): string | undefined => {
  if (entry.sk === 'direct-message') return entry.from;
  if (entry.sk === 'batch') return SYSTEM_SENDER;
  if (entry.sk === 'task') return buildOutcome(entry, entry.from).from;
  return entry.delegation?.from ?? entry.outcome?.from;
};
