import type { Deps } from '../../identity/deps.ts';
import { getLimitRules, resolveLimits } from '../../identity/limit-rules.ts';
import { type Limit, limitedIndexKey, limitedListKey, limitRef } from '../../model/limit.ts';
import { type Task, taskRef, toQueueKey } from '../../model/task.ts';
import { equals, lessThan, notExists, or } from '../../ports/conditions.ts';
import type { QueueMessage } from '../../ports/queues.ts';
import { buildStartMessage, requeueTask } from '../commands/enqueue-task.ts';
import { admit, type KeyPool, loadCurrentKeys } from './admit.ts';

const PAGE_SIZE = 50;
const MAX_PAGES = 10;
const CONTINUE_MS = 1000;

/**
 * Queues tasks for which the key may have a place. Each queue is counted by itself: nobody may claim from one of them. Whoever
 * comes too late goes on waiting, because the claim takes the place.
 */
export const startWaiting = async (
  deps: Deps,
  project: string,
  key: string,
  cause?: string,
  moves = MAX_MOVES,
): Promise<void> => {
  const { startable, moved } = await queueStartable(deps, project, key, cause);
  if (moves === 0) return;
  // These may have got room while their tasks were not in their lists, and this one where a task left it.
  for (const other of moved) await startWaiting(deps, project, other, cause, moves - 1);
  if (moved.size > 0 && startable === 0) await startWaiting(deps, project, key, cause, moves - 1);
};

/** A task that waits for several keys is in the list of one of them. */
const MAX_MOVES = 2;
const MAX_TASKS_MOVED = 5;

const queueStartable = async (
  deps: Deps,
  project: string,
  key: string,
  cause: string | undefined,
): Promise<{ startable: number; moved: Set<string> }> => {
  const moved = new Set<string>();
  let count = 0;
  const pools = new Map<string, KeyPool>();
  let base: KeyPool | undefined;
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const tasks = await deps.records.query<Task>({
      index: 'byHolder',
      pk: limitedListKey(project, key),
      after,
      limit: PAGE_SIZE,
    });
    if (tasks.length === 0) break;
    base ??= await loadCurrentKeys(deps.records, project, [key]);
    const salt = cause ?? String(base.get(key)?.limit?.v ?? 0);
    const { startable, passedOver } = await pickStartable(deps, tasks, { key, base, pools, moved });
    count += startable.length;
    await enqueueAll(deps, startable, salt);
    if ((startable.length === 0 && !passedOver) || tasks.length < PAGE_SIZE) break;
    after = tasks.at(-1)?.byHolder?.sk;
    if (page === MAX_PAGES - 1) await continueLater(deps, project, key);
  }
  return { startable: count, moved };
};

/** A timer that rates have set comes in any case. */
const continueLater = async ({ records, clock, newId }: Deps, project: string, key: string): Promise<void> => {
  const now = clock.now();
  const change = { if: or(notExists('due'), lessThan('due', now + 1)), set: { due: now + CONTINUE_MS } };
  await records.update(limitRef(project, key), change, newId());
};

const pickStartable = async (
  deps: Deps,
  tasks: Task[],
  { key, base, pools, moved }: { key: string; base: KeyPool; pools: Map<string, KeyPool>; moved: Set<string> },
): Promise<{ startable: Task[]; passedOver: boolean }> => {
  const { records, clock } = deps;
  const startable: Task[] = [];
  let moves = 0;
  for (const task of tasks) {
    const now = clock.now();
    if (task.status !== 'requested' || task.notBefore !== undefined || task.deadline <= now) continue;
    const { kind, name, priority } = toQueueKey(task);
    const queue = `${priority}/${kind}/${name}`;
    const pool = pools.get(queue) ?? new Map(base);
    pools.set(queue, pool);
    const limits = resolveLimits(task, await getLimitRules(deps, task.project));
    await loadCurrentKeys(
      records,
      task.project,
      limits.map((limit) => limit.key),
      pool,
    );
    const admission = await admit(records, task, limits, pool, now);
    if (admission.block) {
      const { key: other } = admission.block;
      if (other === key) continue;
      // Each is a write.
      if (++moves > MAX_TASKS_MOVED) continue;
      if (await listUnderKey(deps, task, other)) moved.add(other);
      continue;
    }
    for (const state of admission.states) pool.set(state.key, state);
    startable.push(task);
  }
  return { startable, passedOver: moves > MAX_TASKS_MOVED };
};

/** True if that changes its list. */
export const listUnderKey = async ({ records, newId }: Deps, task: Task, key: string): Promise<boolean> => {
  const wanted = limitedIndexKey(task, key);
  if (task.byHolder?.pk === wanted.pk) return false;
  const change = { if: equals('v', task.v), set: { byHolder: wanted } };
  await records.update(taskRef(task.project, task.id), change, newId());
  return true;
};

const enqueueAll = async (deps: Deps, tasks: Task[], salt: string): Promise<void> => {
  const messages: QueueMessage[] = [];
  for (const task of tasks) {
    // What goes to NATS keeps the order of the change feed.
    if (task.deliveryTarget) await requeueTask(deps, task.project, task.id, task.queueGeneration);
    else messages.push(buildStartMessage(task, salt));
  }
  if (messages.length > 0) await deps.queues.send(messages);
};

/** The rate lets tasks start again. */
export const onLimitTimer = async (deps: Deps, { project, key, due }: Limit): Promise<void> => {
  if (due === undefined) return;
  await startWaiting(deps, project, key, String(due));
  const change = { if: equals('due', due), unset: ['due'] };
  await deps.records.update(limitRef(project, key), change, deps.newId());
};
