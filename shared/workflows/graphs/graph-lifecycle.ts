import { type Caller, getCallerName } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { SYSTEM_SENDER } from '../../kernel/ids.ts';
import { type Graph, graphRef } from '../../model/graph.ts';
import { taskRef } from '../../model/task.ts';
import { equals, notExists } from '../../ports/conditions.ts';
import { buildCancelTransition } from '../../tasks/transitions/end-and-requeue.ts';
import { toConditionalUpdate } from '../../tasks/transitions/rules.ts';
import { type GraphView, getOwnGraph, loadGraphView } from './graph-view.ts';

/** Ends every node that is still open, whoever works on it. Cancelling twice is the same as once. */
export const cancelGraph = async (deps: Deps, caller: Caller, id: string): Promise<GraphView> => {
  const graph = await getOwnGraph(deps, caller, id);
  const { status } = await loadGraphView(deps, graph);
  if (graph.cancelledAt === undefined && status !== 'in_progress') {
    throw new ParleyError('graph_ended', `The graph ${id} has ended: it is ${status}.`, {
      details: { graphStatus: status },
    });
  }
  const set = { cancelledBy: getCallerName(caller), cancelledAt: deps.clock.now() };
  const written = await deps.records.update(
    graphRef(caller.project, id),
    { if: notExists('cancelledAt'), set },
    deps.newId(),
  );
  const cancelled = written.outcome === 'written' ? written.after : (written.existing ?? graph);
  // The dispatcher does the same; who asked need not wait for it.
  await cancelGraphNodes(deps, cancelled);
  return loadGraphView(deps, cancelled);
};

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

/**
 * Writes down how the graph ended once none of its nodes is open, and forgets it where one runs again. It follows from what the
 * nodes are now, so that news of them may come twice, late or in any order. What was written is looked at once more: a node may have
 * begun again between the look and the write.
 */
export const reconcileGraph = async (deps: Deps, project: string, id: string): Promise<void> => {
  const ref = graphRef(project, id);
  for (;;) {
    const graph = await deps.records.get(ref);
    if (!graph) return;
    const { status } = await loadGraphView(deps, graph);
    if (status === (graph.end?.status ?? 'in_progress')) return;
    const change = status === 'in_progress' ? { unset: ['end'] } : { set: { end: { status, at: deps.clock.now() } } };
    await deps.records.update(ref, { ...change, if: equals('v', graph.v) }, deps.newId());
  }
};
