import type { Deps } from '../../identity/deps.ts';
import type { Effect } from '../../model/effect.ts';
import { type Graph, graphRef } from '../../model/graph.ts';
import { notExists } from '../../ports/conditions.ts';
import type { ParleyEvent } from '../../ports/events.ts';
import type { RecordChange } from '../../ports/records.ts';
import { createPending, type Notices } from '../deferred/create-pending.ts';
import { cancelGraphNodes } from './graph-lifecycle.ts';

interface CreateTasksResult {
  graph: Graph;
  notices?: Notices;
}

/** Creates missing tasks, unless the graph is cancelled. */
export const createTasks = async (deps: Deps, graph: Graph): Promise<CreateTasksResult> => {
  if (!graph.pendingRequests) return { graph };
  if (graph.cancelledAt !== undefined) return { graph: await cancelAndCleanUp(deps, graph) };
  const ref = graphRef(graph.project, graph.id);
  try {
    const { rejected, notices } = await createPending(deps, { ...graph, trace: graph }, graph.pendingRequests);
    const reasons = Object.fromEntries(rejected.map(({ id, error }) => [id, error.message]));
    const set = rejected.length > 0 ? { rejected: reasons } : {};
    const change = { if: notExists('cancelledAt'), set, unset: PENDING_FIELDS };
    const written = await deps.records.update(ref, change, deps.newId());
    if (written.outcome === 'written') return { graph: written.after, notices };
    return { graph: written.existing ? await cancelAndCleanUp(deps, written.existing) : graph };
  } catch (error) {
    // A concurrent run may have created the last ones.
    const current = await deps.records.get(ref);
    if (current && !current.pendingRequests) return { graph: current };
    throw error;
  }
};

const PENDING_FIELDS = ['pendingRequests', 'due'];

/** Tasks that were created during the cancellation are cancelled too. */
const cancelAndCleanUp = async (deps: Deps, graph: Graph): Promise<Graph> => {
  await cancelGraphNodes(deps, graph);
  const written = await deps.records.update(graphRef(graph.project, graph.id), { unset: PENDING_FIELDS }, deps.newId());
  return written.outcome === 'written' ? written.after : graph;
};

export const onGraphTimer = async (deps: Deps, graph: Graph): Promise<void> => {
  await createTasks(deps, graph);
};

export const computeGraphEffects = ({ before, after }: RecordChange<Graph>): Effect[] => {
  if (!after) return [];
  const effects: Effect[] = [];
  if (!before) effects.push({ kind: 'publish', event: buildGraphEvent('graph.requested', after) });
  if (after.cancelledAt !== undefined && before?.cancelledAt === undefined) {
    effects.push({ kind: 'cancelGraphNodes', of: after });
  }
  // A rejected node may have been the last open one.
  if (before?.pendingRequests && !after.pendingRequests)
    effects.push({ kind: 'reconcileGraph', project: after.project, graph: after.id });
  if (after.end && !before?.end) {
    effects.push({ kind: 'publish', event: buildGraphEvent('graph.ended', after) });
    effects.push({ kind: 'deliverGraphEnd', of: after });
  }
  return effects;
};

const buildGraphEvent = (type: 'graph.requested' | 'graph.ended', graph: Graph): ParleyEvent => ({
  id: `graph/${graph.id}:${graph.v}:${type}`,
  project: graph.project,
  type,
  at: graph.at,
  data: {
    graphId: graph.id,
    conversationId: graph.conversation,
    from: graph.from,
    nodes: graph.nodes.length,
    traceparent: graph.traceparent,
    ...(type === 'graph.ended' && { status: graph.end?.status, cancelledBy: graph.cancelledBy }),
  },
});
