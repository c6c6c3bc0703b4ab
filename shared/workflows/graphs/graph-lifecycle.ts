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

/** Idempotent. */
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
  // Also an effect, but the caller need not wait for it.
  await cancelGraphNodes(deps, cancelled);
  return loadGraphView(deps, cancelled);
};

/** Dependents first, so that none fails because of a cancelled dependency. */
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
 * Records the end once no node is open, and removes it after a retry. Computed from the nodes as they are, so
 * notifications may be duplicated, late or reordered. It checks again after the write: a node may have started in
 * between.
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
