import { type Caller, getCallerName } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { graphRef } from '../../model/graph.ts';
import { notExists } from '../../ports/conditions.ts';
import { cancelGraphNodes } from './cancel-nodes.ts';
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
