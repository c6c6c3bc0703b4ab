import type { Deps } from '../deps.ts';
import { type Change, is } from '../ports/conditions.ts';
import type { Item, Ref } from '../ports/records.ts';
import { lookAtDependencies } from './dependencies.ts';
import { LINKS_PAGE, type LinkKind, linksOf } from './links.ts';
import { type Task, taskRef } from './task.ts';

/** What is to be done to all tasks that a task has links to, and how far that has come where they are too many for one go. */
export interface Walk extends Item {
  sk: 'walk';
  project: string;
  task: string;
  /** Its children are changed; those that wait for it are looked at. */
  along: LinkKind;
  change?: Change;
  /** The last link that was followed. */
  reachedUpTo: string;
}

type Way = Pick<Walk, 'project' | 'task' | 'along' | 'change'>;

const walkRef = ({ project, task, along }: Way): Ref<Walk> => ({ pk: `${project}#walk#${along}#${task}`, sk: 'walk' });
export const isWalk = (item: Item): item is Walk => item.sk === 'walk';

/** The children of a task, all that the change fits. Where it ends them, each then ends its own. */
export const changeChildren = (deps: Deps, { project, id }: Task, change: Change): Promise<void> =>
  begin(deps, { project, task: id, along: 'child', change });

/** All that wait for the task, or ended because it had failed. */
export const lookAtWaiters = (deps: Deps, { project, id }: Task): Promise<void> =>
  begin(deps, { project, task: id, along: 'waiter' });

/** News in the middle of a walk begin it anew, since what was passed may have to be looked at once more. */
const begin = async (deps: Deps, way: Way): Promise<void> => {
  const reachedUpTo = await follow(deps, way);
  if (reachedUpTo === undefined) return;
  const set = { ...way, reachedUpTo, due: deps.clock.now() };
  await deps.records.update(walkRef(way), { set }, deps.newId(), 'orCreate');
};

/** The next links. Whoever dies on the way, or comes twice, follows the same ones again. */
export const onWalkDue = async (deps: Deps, walk: Walk): Promise<void> => {
  const reachedUpTo = await follow(deps, walk, walk.reachedUpTo);
  const [key, unchanged] = [walkRef(walk), is('v', walk.v)];
  if (reachedUpTo === undefined) {
    await deps.records.transact([{ kind: 'remove', key, if: unchanged }], deps.newId());
    return;
  }
  const due = Math.max(deps.clock.now(), (walk.due ?? 0) + 1);
  await deps.records.update(key, { if: unchanged, set: { reachedUpTo, due } }, deps.newId());
};

/** One page of links. Says up to where it came; undefined at the end. */
const follow = async (deps: Deps, way: Way, after?: string): Promise<string | undefined> => {
  const links = await linksOf(deps.records, taskRef(way.project, way.task).pk, way.along, after);
  const ids = links.map(({ taskId }) => taskId);
  if (way.change) await changeOwn(deps, way, ids, way.change);
  else await Promise.all(ids.map((id) => lookAtDependencies(deps, way.project, id)));
  return links.length < LINKS_PAGE ? undefined : links.at(-1)?.sk;
};

const changeOwn = async ({ records, newId }: Deps, parent: Way, ids: string[], change: Change): Promise<void> => {
  const children = await records.getMany(ids.map((id) => taskRef(parent.project, id)));
  // Another task may have the id of one that is long gone.
  const own = children.filter((child) => child.parent === parent.task);
  await Promise.all(own.map(({ project, id }) => records.update(taskRef(project, id), change, newId())));
};
