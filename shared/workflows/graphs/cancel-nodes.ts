import type { Deps } from '../../identity/deps.ts';
import { SYSTEM_SENDER } from '../../kernel/system-sender.ts';
import type { Graph } from '../../model/graph.ts';
import { taskRef } from '../../model/task.ts';
import { buildCancelTransition } from '../../tasks/transitions/end-and-requeue.ts';
import { toConditionalUpdate } from '../../tasks/transitions/rules.ts';

/** Those that wait for others first, so that none of them fails because what it waits for was cancelled. */
export const cancelGraphNodes = async (deps: Deps, graph: Graph): Promise<void> => {
  const { project, cancelledBy = SYSTEM_SENDER, cancelledAt = deps.clock.now() } = graph;
  const change = toConditionalUpdate(
    buildCancelTransition(cancelledBy, { now: cancelledAt, limits: deps.config.tasks }),
  );
  for (let left = graph.nodes; left.length > 0; ) {
    const awaited = new Set(left.flatMap(({ dependencies }) => dependencies));
    const last = left.filter(({ taskId }) => !awaited.has(taskId));
    await Promise.all(last.map(({ taskId }) => deps.records.update(taskRef(project, taskId), change, deps.newId())));
    left = left.filter((node) => !last.includes(node));
  }
};
