import type { Item, Records } from '../ports/records.ts';

/** That another task has this one as its parent, or waits for it; it stands with this one. */
export interface Link extends Item {
  taskId: string;
}
export type LinkKind = 'child' | 'waiter';

/** Longer than a task is kept. One that waits longer than this is still looked at every day. */
export const LINK_KEPT_MS = 30 * 86_400_000;

export const LINKS_PAGE = 100;

/** The links of a task, a page at a time. */
export const linksOf = (records: Records, pk: string, kind: LinkKind, after?: string): Promise<Link[]> =>
  records.query<Link>({ p: pk, prefix: `${kind}#`, after, limit: LINKS_PAGE });
