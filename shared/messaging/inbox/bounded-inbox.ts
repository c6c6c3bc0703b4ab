import type { Agent } from '../../identity/agents/agent.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import type { DirectMessage } from '../../model/direct-message.ts';
import { toSortableTime } from '../../model/task.ts';
import { type Change, exists, greaterThan, lessThan } from '../../ports/conditions.ts';
import type { Item, NewItem, Records, Ref, TransactionWrite } from '../../ports/records.ts';

/** Depth and evictions of a bounded inbox. Its sort key precedes all slots. */
export interface InboxDepth extends Item {
  sk: '#depth';
  count: number;
  evicted: number;
}

/** A message in a bounded inbox, in order of arrival. */
export interface InboxSlot extends Item {
  from: string;
  id: string;
  isGap?: true;
}

const inboxSlotsPk = (project: string, agent: string): string => `${project}#inbox-slots#${agent}`;
export const inboxDepthRef = (project: string, agent: string): Ref<InboxDepth> => ({
  pk: inboxSlotsPk(project, agent),
  sk: '#depth',
});

export const getInboxDepth = (records: Records, { project, id }: Agent): Promise<InboxDepth | undefined> =>
  records.get(inboxDepthRef(project, id));

/** The writes that admit a message into a bounded inbox. */
export interface InboxAdmission {
  slot: string;
  writes: TransactionWrite[];
  /** After the admission. */
  depth: number;
  /** If the inbox is full. */
  evicted?: InboxSlot;
}

/** One read returns the depth and the oldest message. */
export const planAdmission = async (
  deps: Deps,
  { project, id, inboxLimit: limit = 0, overflow }: Agent,
  directMessage: Pick<InboxSlot, 'from' | 'id' | 'isGap'>,
  evict: (arrival: InboxSlot) => TransactionWrite,
): Promise<InboxAdmission | ParleyError> => {
  const key = inboxDepthRef(project, id);
  const now = deps.clock.now();
  const arrival = `at#${toSortableTime(now)}#${directMessage.from}:${directMessage.id}`;
  const came: TransactionWrite = {
    kind: 'create',
    item: { pk: key.pk, sk: arrival, ...directMessage },
  };
  const [depth, oldest] = await readDepthAndOldest(deps, key);
  const { count } = depth;
  if (count < limit) {
    const change: Change = { if: lessThan('count', limit), add: { count: 1 } };
    return { slot: arrival, depth: count + 1, writes: [came, { kind: 'update', key, change }] };
  }
  if (overflow === 'refuse' || !oldest) return inboxFullError(id, limit);
  const change: Change = { if: greaterThan('count', limit - 1), add: { evicted: 1 } };
  const gone: TransactionWrite = { kind: 'remove', key: { pk: oldest.pk, sk: oldest.sk }, if: exists('v') };
  const writes: TransactionWrite[] = [came, { kind: 'update', key, change }, gone, evict(oldest)];
  return { slot: arrival, depth: count, writes, evicted: oldest };
};

const readDepthAndOldest = async (
  deps: Deps,
  key: Ref<InboxDepth>,
): Promise<[Pick<InboxDepth, 'count'>, InboxSlot | undefined]> => {
  const [first, second] = await deps.records.query<InboxDepth | InboxSlot>({ pk: key.pk, limit: 2 });
  if (first && 'count' in first) return [first, second && 'id' in second ? second : undefined];
  const empty: NewItem<InboxDepth> = { pk: key.pk, sk: '#depth', count: 0, evicted: 0 };
  await deps.records.create<InboxDepth>(empty, deps.newId());
  return [{ count: 0 }, undefined];
};

const inboxFullError = (agent: string, limit: number): ParleyError =>
  new ParleyError(
    'inbox_full',
    `${limit} messages wait in the inbox of ${agent}, which takes no more. Try again later.`,
    {
      details: { limit },
      retryable: true,
    },
  );

/** A DynamoDB transaction takes 100 writes: two per message, and one for the depth. */
const MAX_PER_TRANSACTION = 48;

/** Removes messages from their inbox, each with its change, and returns those that were still there. */
export const removeMessages = async (
  deps: Deps,
  directMessages: DirectMessage[],
  changeOf: (directMessage: DirectMessage) => Change,
): Promise<DirectMessage[]> => {
  const counted = Map.groupBy(
    directMessages.filter(({ inboxSlot }) => inboxSlot !== undefined),
    ({ project, to }) => inboxSlotsPk(project, to),
  );
  const left = await Promise.all([
    ...directMessages
      .filter(({ inboxSlot }) => inboxSlot === undefined)
      .map((directMessage) => removeUncounted(deps, directMessage, changeOf(directMessage))),
    ...[...counted.values()].map((group) => removeCounted(deps, group, changeOf)),
  ]);
  return left.flat();
};

const IS_IN_INBOX = exists('byList.sk');

const removeUncounted = async (deps: Deps, directMessage: DirectMessage, change: Change): Promise<DirectMessage[]> => {
  const { pk, sk } = directMessage;
  const written = await deps.records.update({ pk, sk }, { ...change, if: IS_IN_INBOX }, deps.newId());
  return written.outcome === 'written' ? [directMessage] : [];
};

const removeCounted = async (
  deps: Deps,
  directMessages: DirectMessage[],
  changeOf: (directMessage: DirectMessage) => Change,
): Promise<DirectMessage[]> => {
  const left: DirectMessage[] = [];
  for (let rest = directMessages; rest.length > 0; rest = rest.slice(MAX_PER_TRANSACTION)) {
    left.push(...(await removeInTransaction(deps, rest.slice(0, MAX_PER_TRANSACTION), changeOf)));
  }
  return left;
};

/** All or none; on a conflict again without the missing one. */
const removeInTransaction = async (
  deps: Deps,
  directMessages: DirectMessage[],
  changeOf: (directMessage: DirectMessage) => Change,
): Promise<DirectMessage[]> => {
  const [first] = directMessages;
  if (!first) return [];
  const depth = inboxDepthRef(first.project, first.to);
  const writes = directMessages.flatMap((directMessage): TransactionWrite[] => [
    {
      kind: 'update',
      key: { pk: directMessage.pk, sk: directMessage.sk },
      change: { ...changeOf(directMessage), if: IS_IN_INBOX },
    },
    { kind: 'remove', key: { pk: depth.pk, sk: directMessage.inboxSlot ?? '' } },
  ]);
  const done = await deps.records.transact(
    [...writes, { kind: 'update', key: depth, change: { add: { count: -directMessages.length } } }],
    deps.newId(),
  );
  if (done.outcome === 'written') return directMessages;
  const gone = Math.floor(done.at / 2);
  if (gone >= directMessages.length) throw new Error(`nothing counts what waits in the inbox of ${first.to}`);
  return removeInTransaction(deps, directMessages.toSpliced(gone, 1), changeOf);
};
