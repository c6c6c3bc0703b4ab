import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { toCanonicalId } from '../../kernel/ids.ts';
import { type DirectMessage, directMessageRef, isGap } from '../../model/direct-message.ts';
import { timeOrderedKey } from '../../model/task.ts';
import { equals } from '../../ports/conditions.ts';
import type { IndexKey } from '../../ports/records.ts';
import { updateWithRetry } from '../../storage/update-with-retry.ts';

export const GAP_STATUSES = ['open', 'closed'] as const;
type GapStatus = (typeof GAP_STATUSES)[number];

/** A gap stays listed, read or not, until somebody closes it. It is listed by its second index key. */
export const gapKey = (
  { project, from, id }: Pick<DirectMessage, 'project' | 'from' | 'id'>,
  status: GapStatus,
  openedAt: number,
): IndexKey => timeOrderedKey(gapListKey(project, status), openedAt, `${from}:${id}`);

const gapListKey = (project: string, status: GapStatus): string => `${project}#gaps#${status}`;

interface GapPage {
  gaps: DirectMessage[];
  cursor?: string;
}

/** Newest first. An agent sees the gaps that it reported or received. */
export const listGaps = async (
  deps: Deps,
  caller: Caller,
  { status, limit, cursor }: { status: GapStatus; limit: number; cursor?: string },
): Promise<GapPage> => {
  const p = gapListKey(caller.project, status);
  const found = await deps.records.query<DirectMessage>({
    index: 'byHolder',
    pk: p,
    after: cursor,
    newestFirst: true,
    limit,
  });
  const tickets = found.filter((directMessage) => isParty(caller, directMessage));
  return { gaps: tickets, cursor: found.length === limit ? found.at(-1)?.byHolder?.sk : undefined };
};

const isParty = (caller: Caller, { from, to }: DirectMessage): boolean =>
  caller.role === 'admin' || [from, to].includes(caller.registered.agent.id);

/** Idempotent. Then stored as long as an ended task. */
export const closeGap = async (deps: Deps, caller: Caller, from: string, id: string): Promise<DirectMessage> => {
  const { project } = caller;
  const now = deps.clock.now();
  const done = await updateWithRetry(
    deps.records,
    directMessageRef(project, from, toCanonicalId(id)),
    deps.newId(),
    undefined,
    (directMessage) => {
      if (!directMessage || !isGap(directMessage) || !isParty(caller, directMessage)) {
        throw new ParleyError('not_found', `There is no ticket ${id} of ${from}.`);
      }
      if (directMessage.closedAt !== undefined) return 'unchanged';
      const held = gapKey(directMessage, 'closed', directMessage.createdAt);
      return {
        if: equals('v', directMessage.v),
        set: { byHolder: held, closedAt: now, expires: now + deps.config.tasks.retentionMs },
      };
    },
  );
  return done.outcome === 'changed' ? done.after : done.record;
};
