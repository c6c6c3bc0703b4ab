import type { Deps } from '../deps.ts';
import type { Effect } from '../dispatch/effect.ts';
import { absent } from '../ports/conditions.ts';
import type { ParleyEvent } from '../ports/events.ts';
import type { RecordChange } from '../ports/records.ts';
import { sow } from '../seeds/sow.ts';
import { cancelNodes } from './cancel-nodes.ts';
import { type Graph, graphRef } from './graph.ts';

/** Makes the tasks that the graph does not have yet, unless nobody wants it any more. */
export const grown = async (deps: Deps, graph: Graph): Promise<Graph> => {
  if (!graph.seeds) return graph;
  if (graph.cancelledAt !== undefined) return withered(deps, graph);
  const ref = graphRef(graph.project, graph.id);
  try {
    const refused = await sow(deps, { ...graph, trace: graph }, graph.seeds);
    const reasons = Object.fromEntries(refused.map(({ id, error }) => [id, error.message]));
    const set = refused.length > 0 ? { refused: reasons } : {};
    const change = { if: absent('cancelledAt'), set, unset: SOWN };
    const written = await deps.records.update(ref, change, deps.newId());
    if (written.outcome === 'written') return written.after;
    return written.current ? withered(deps, written.current) : graph;
  } catch (error) {
    // Somebody else may have made the last of them, and with that the requests are gone.
    const current = await deps.records.get(ref);
    if (current && !current.seeds) return current;
    throw error;
  }
};

/** What is forgotten of a graph that has all its tasks. */
const SOWN = ['seeds', 'due'];

/** Tasks that were made while somebody cancelled the graph are cancelled too, before it forgets that there may be such. */
const withered = async (deps: Deps, graph: Graph): Promise<Graph> => {
  await cancelNodes(deps, graph);
  const written = await deps.records.update(graphRef(graph.project, graph.id), { unset: SOWN }, deps.newId());
  return written.outcome === 'written' ? written.after : graph;
};

export const onGraphDue = async (deps: Deps, graph: Graph): Promise<void> => {
  await grown(deps, graph);
};

/** Everything that follows from one write to a graph. */
export const graphEffects = ({ before, after }: RecordChange<Graph>): Effect[] => {
  if (!after) return [];
  const effects: Effect[] = [];
  if (!before) effects.push({ kind: 'announce', event: eventOf('graph.requested', after) });
  if (after.cancelledAt !== undefined && before?.cancelledAt === undefined) {
    effects.push({ kind: 'cancelNodes', of: after });
  }
  // What could not become a task may have been the last that was open.
  if (before?.seeds && !after.seeds) effects.push({ kind: 'lookAtGraph', project: after.project, graph: after.id });
  if (after.ended && !before?.ended) effects.push({ kind: 'announce', event: eventOf('graph.ended', after) });
  return effects;
};

const eventOf = (type: 'graph.requested' | 'graph.ended', graph: Graph): ParleyEvent => ({
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
    ...(type === 'graph.ended' && { status: graph.ended?.status, cancelledBy: graph.cancelledBy }),
  },
});
