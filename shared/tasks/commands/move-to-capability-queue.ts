import {
  type DomainProviders,
  domainProvidersRef,
  isCapabilityDeclared,
  recountProviders,
} from '../../identity/agents/domain-providers.ts';
import type { Deps } from '../../identity/deps.ts';
import { isOpen, type Task, taskRef, undeclaredListKey } from '../../model/task.ts';
import { type Change, equals } from '../../ports/conditions.ts';
import { toTransitionContext } from '../transitions/end-and-requeue.ts';
import { buildCapabilityQueueChange } from '../transitions/timeouts.ts';
import { enqueueEagerly } from './enqueue-task.ts';

const PAGE_SIZE = 100;

/** Moves tasks of newly declared capabilities into their queues, a page of each per run. */
export const onServedTimer = async (deps: Deps, served: DomainProviders): Promise<void> => {
  if (served.isUncounted) {
    await recountProviders(deps, served);
    return;
  }
  const { project, domain, v, declaredAt } = served;
  const done: string[] = [];
  for (const capability of Object.keys(declaredAt)) {
    if (!isCapabilityDeclared(served, capability) || (await movePageToCapabilityQueue(deps, project, capability)))
      done.push(capability);
  }
  const isOver = done.length === Object.keys(declaredAt).length;
  const change: Change = {
    if: equals('v', v),
    set: isOver ? {} : { due: Math.max(deps.clock.now(), (served.due ?? 0) + 1) },
    unset: [...done.map((capability) => `declaredAt.${capability}`), ...(isOver ? ['due'] : [])],
  };
  await deps.records.update(domainProvidersRef(project, domain), change, deps.newId());
};

/** Whether that was the last page. */
const movePageToCapabilityQueue = async (deps: Deps, project: string, capability: string): Promise<boolean> => {
  const p = undeclaredListKey(project, capability);
  const tasks = await deps.records.query<Task>({ index: 'byHolder', pk: p, limit: PAGE_SIZE });
  await Promise.all(tasks.map((task) => moveToCapabilityQueue(deps, task)));
  return tasks.length < PAGE_SIZE;
};

const moveToCapabilityQueue = async (deps: Deps, task: Task): Promise<void> => {
  if (!isOpen(task) || task.routingCapability !== undefined) return;
  const change = buildCapabilityQueueChange(task, toTransitionContext(deps));
  const written = await deps.records.update(taskRef(task.project, task.id), change, deps.newId());
  if (written.outcome === 'written' && !written.replayed) await enqueueEagerly(deps, written);
};
