import { type Caller, nameOf } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { absent } from '../ports/conditions.ts';
import { cancelNodes } from './cancel-nodes.ts';
import { graphRef } from './graph.ts';
import { findGraph, type GraphView, graphView } from './graph-view.ts';

/** Ends every node that is still open, whoever works on it. Cancelling twice is the same as once. */
export const cancelGraph = async (deps: Deps, caller: Caller, id: string): Promise<GraphView> => {
  const graph = await findGraph(deps, caller, id);
  const { status } = await graphView(deps, graph);
  if (graph.cancelledAt === undefined && status !== 'in_progress') {
    throw new ParleyError('graph_ended', `The graph ${id} has ended: it is ${status}.`, {
      facts: { graphStatus: status },
    });
  }
  const set = { cancelledBy: nameOf(caller), cancelledAt: deps.clock.now() };
  const written = await deps.records.update(
    graphRef(caller.project, id),
    { if: absent('cancelledAt'), set },
    deps.newId(),
  );
  const cancelled = written.outcome === 'written' ? written.after : (written.current ?? graph);
  // The dispatcher does the same; who asked need not wait for it.
  await cancelNodes(deps, cancelled);
  return graphView(deps, cancelled);
};
