import { getDialect } from '../../dialects/registry.ts';
import type { Agent } from '../../identity/agents/agent.ts';
import type { Deps } from '../../identity/deps.ts';
import type { Batch } from '../../model/batch.ts';
import type { Delivery } from '../../model/delivery.ts';
import { type DirectMessage, isDirectMessage } from '../../model/direct-message.ts';
import { hasSeveralInboxEntries, type Task } from '../../model/task.ts';
import { type Change, exists } from '../../ports/conditions.ts';
import type { Item } from '../../ports/records.ts';
import { buildReadChange as noteRead, TOMBSTONE_MS } from '../direct-messages/direct-message-changes.ts';
import { removeMessages } from './bounded-inbox.ts';

/** A completed task, a delivery, a direct message, or an ended batch. */
export type InboxEntry = (Task | Delivery | DirectMessage | Batch) & ReadMark;

/** A read mark, stored only if the id of the entry may be ambiguous. */
interface ReadMark extends Item {
  isRead?: true;
}

/**
 * Whether what its reader calls it may have been, or become, the name of another entry of the inbox: eight digits always may, the id
 * of a task where more than one thing is told of it, and that of a batch where it is a task's as well. An acknowledgement by such a name
 * means what was read.
 */
export const hasAmbiguousId = (entry: InboxEntry, { dialect }: Pick<Agent, 'dialect'>): boolean => {
  if (getDialect(dialect).usesShortIds || entry.sk === 'batch') return true;
  if (entry.sk === 'direct-message') return entry.taskId !== undefined;
  return entry.sk === 'task' ? hasSeveralInboxEntries(entry) : entry.hasSiblings === true;
};

/** Before the reader gets them. */
export const markRead = async (deps: Deps, agent: Pick<Agent, 'dialect'>, entries: InboxEntry[]): Promise<void> => {
  const unmarked = entries.filter((entry) => !entry.isRead && hasAmbiguousId(entry, agent));
  const change = { if: exists('byList.sk'), set: { isRead: true } };
  await Promise.all(unmarked.map(({ pk, sk }) => deps.records.update<InboxEntry>({ pk, sk }, change, deps.newId())));
};

/** Those that were still there. */
export const removeEntries = async <T extends { entry: InboxEntry }>(deps: Deps, entries: T[]): Promise<T[]> => {
  const now = deps.clock.now();
  const { retentionMs } = deps.config.tasks;
  const directMessages = entries.flatMap(({ entry }) => (isDirectMessage(entry) ? [entry] : []));
  const others = entries.flatMap(({ entry }) => (isDirectMessage(entry) ? [] : [entry]));
  const [left, written] = await Promise.all([
    removeMessages(deps, directMessages, (directMessage) => noteRead(directMessage, now, retentionMs)),
    Promise.all(
      others.map(({ pk, sk }) =>
        deps.records.update({ pk, sk }, { ...buildTombstone(sk, now), if: exists('byList.sk') }, deps.newId()),
      ),
    ),
  ]);
  const taken = new Set<InboxEntry>([...left, ...others.filter((_, at) => written[at]?.outcome === 'written')]);
  return entries.filter(({ entry }) => taken.has(entry));
};

const buildTombstone = (sk: (Task | Delivery | Batch)['sk'], now: number): Change =>
  sk === 'task' || sk === 'batch'
    ? { unset: ['byList'] }
    : { set: { expires: now + TOMBSTONE_MS }, unset: ['byList', 'outcome', 'delegation'] };
