import type { Item, Records } from '../../ports/records.ts';

/** That another task has this one as its parent, or waits for it; it stands with this one. */
export interface TaskLink extends Item {
  taskId: string;
}
export type TaskRelation = 'child' | 'dependent';

export const LINKS_PAGE_SIZE = 100;

/** The links of a task, a page at a time. */
export const listLinks = (records: Records, pk: string, kind: TaskRelation, after?: string): Promise<TaskLink[]> =>
  records.query<TaskLink>({ pk: pk, prefix: `${kind}#`, after, limit: LINKS_PAGE_SIZE });
