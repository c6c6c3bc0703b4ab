import { toListedBatch } from '../batches/list-batches.ts';
import type { Task } from '../model/task.ts';
import { toListedListing } from '../model/task-listing.ts';
import type { ListedKinds } from '../ports/lists.ts';
import { deriveListing } from '../tasks/queries/list-by-change.ts';
import { toListedTask } from '../tasks/queries/list-tasks.ts';
import { toListedTurn } from '../turns/queries/list-turns.ts';
import { toListedGraph } from '../workflows/graphs/list-graphs.ts';
import { toListedOperation } from '../workflows/operations/operation-view.ts';
import { toListedSchedule } from '../workflows/schedules/manage-schedules.ts';

/** For an engine that lists what follows from a task without storing it. */
export const LISTED_KINDS: ListedKinds = {
  task: (task: Task) => ({ ...toListedTask(task), derived: deriveListing(task) }),
  listing: toListedListing,
  turn: toListedTurn,
  batch: toListedBatch,
  graph: toListedGraph,
  operation: toListedOperation,
  schedule: toListedSchedule,
};
