import type { Deps } from '../../identity/deps.ts';
import { type Task, taskRef } from '../../model/task.ts';
import { type Change, equals } from '../../ports/conditions.ts';
import type { Item, Records, Ref } from '../../ports/records.ts';
import { reconcileDependencies } from './reconcile-dependencies.ts';

/** A change of all linked tasks, and its progress. */
export interface FanoutCursor extends Item {
  sk: 'fanout';
  project: string;
  task: string;
  /** Subtasks are changed; dependents are reconciled. */
  relation: TaskRelation;
  change?: Change;
  /** The last processed link. */
  cursor: string;
}

type FanoutTarget = Pick<FanoutCursor, 'project' | 'task' | 'relation' | 'change'>;

const fanoutCursorRef = ({ project, task, relation }: FanoutTarget): Ref<FanoutCursor> => ({
  pk: `${project}#fanout#${relation}#${task}`,
  sk: 'fanout',
});

/** A change that ends a subtask reaches its own subtasks by its effects. */
export const updateChildren = (deps: Deps, { project, id }: Task, change: Change): Promise<void> =>
  startFanout(deps, { project, task: id, relation: 'child', change });

/** Tasks that wait for it, or failed because of it. */
export const reconcileDependents = (deps: Deps, { project, id }: Task): Promise<void> =>
  startFanout(deps, { project, task: id, relation: 'dependent' });

/** A change during a fan-out starts it again, because earlier pages may be affected. */
const startFanout = async (deps: Deps, target: FanoutTarget): Promise<void> => {
  const reachedUpTo = await processLinkPage(deps, target);
  if (reachedUpTo === undefined) return;
  const set = { ...target, cursor: reachedUpTo, due: deps.clock.now() };
  await deps.records.update(fanoutCursorRef(target), { set }, deps.newId(), 'orCreate');
};

/** The next page of links. A repetition, or a restart after a crash, processes the same page again. */
export const onFanoutTimer = async (deps: Deps, fanout: FanoutCursor): Promise<void> => {
  const reachedUpTo = await processLinkPage(deps, fanout, fanout.cursor);
  const [key, unchanged] = [fanoutCursorRef(fanout), equals('v', fanout.v)];
  if (reachedUpTo === undefined) {
    await deps.records.transact([{ kind: 'remove', key, if: unchanged }], deps.newId());
    return;
  }
  const due = Math.max(deps.clock.now(), (fanout.due ?? 0) + 1);
  await deps.records.update(key, { if: unchanged, set: { cursor: reachedUpTo, due } }, deps.newId());
};

/** Returns its last link; undefined at the end. */
const processLinkPage = async (deps: Deps, target: FanoutTarget, after?: string): Promise<string | undefined> => {
  const links = await listLinks(deps.records, taskRef(target.project, target.task).pk, target.relation, after);
  const ids = links.map(({ taskId }) => taskId);
  if (target.change) await updateOwnChildren(deps, target, ids, target.change);
  else await Promise.all(ids.map((id) => reconcileDependencies(deps, target.project, id)));
  return links.length < LINKS_PAGE_SIZE ? undefined : links.at(-1)?.sk;
};

const updateOwnChildren = async (
  { records, newId }: Deps,
  parent: FanoutTarget,
  ids: string[],
  change: Change,
): Promise<void> => {
  const children = await records.getMany(ids.map((id) => taskRef(parent.project, id)));
  // Another task may have the id by now.
  const own = children.filter((child) => child.parent === parent.task);
  await Promise.all(own.map(({ project, id }) => records.update(taskRef(project, id), change, newId())));
};

/** In the partition of the parent or dependency. */
export interface TaskLink extends Item {
  taskId: string;
}
type TaskRelation = 'child' | 'dependent';

const LINKS_PAGE_SIZE = 100;

/** One page. */
export const listLinks = (records: Records, pk: string, kind: TaskRelation, after?: string): Promise<TaskLink[]> =>
  records.query<TaskLink>({ pk: pk, prefix: `${kind}#`, after, limit: LINKS_PAGE_SIZE });
