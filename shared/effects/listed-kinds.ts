import { toListedBatch } from '../batches/list-batches.ts';
import { toListedListing } from '../model/task-listing.ts';
import type { ListedKinds } from '../ports/lists.ts';
import { toListedTask } from '../tasks/queries/list-tasks.ts';
import { toListedTurn } from '../turns/queries/list-turns.ts';
import { toListedGraph } from '../workflows/graphs/list-graphs.ts';
import { toListedOperation } from '../workflows/operations/operation-view.ts';
import { toListedSchedule } from '../workflows/schedules/manage-schedules.ts';

export const LISTED_KINDS: ListedKinds = {
  task: toListedTask,
  listing: toListedListing,
  turn: toListedTurn,
  batch: toListedBatch,
  graph: toListedGraph,
  operation: toListedOperation,
  schedule: toListedSchedule,
};
