import type { Deps } from '../deps.ts';
import { PARLEY } from '../inbox/delivery.ts';
import { cancel } from '../tasks/ends.ts';
import { unseen } from '../tasks/rules.ts';
import { taskRef } from '../tasks/task.ts';
import type { Graph } from './graph.ts';

/** Those that wait for others first, so that none of them fails because what it waits for was cancelled. */
export const cancelNodes = async (deps: Deps, graph: Graph): Promise<void> => {
  const { project, cancelledBy = PARLEY, cancelledAt = deps.clock.now() } = graph;
  const change = unseen(cancel(cancelledBy, { now: cancelledAt, limits: deps.config.tasks }));
  for (let left = graph.nodes; left.length > 0; ) {
    const awaited = new Set(left.flatMap(({ dependencies }) => dependencies));
    const last = left.filter(({ taskId }) => !awaited.has(taskId));
    await Promise.all(last.map(({ taskId }) => deps.records.update(taskRef(project, taskId), change, deps.newId())));
    left = left.filter((node) => !last.includes(node));
  }
};
