import type { Deps } from '../deps.ts';
import type { RecordChange } from '../ports/records.ts';
import type { Effect } from '../tasks/effects.ts';
import { sow } from '../tasks/sow.ts';
import { type Graph, graphRef } from './graph.ts';

/** Makes the tasks that the graph does not have yet. */
export const grown = async (deps: Deps, graph: Graph): Promise<Graph> => {
  if (!graph.seeds) return graph;
  const ref = graphRef(graph.project, graph.id);
  try {
    const refused = await sow(deps, { ...graph, trace: graph }, graph.seeds);
    const reasons = Object.fromEntries(refused.map(({ id, error }) => [id, error.message]));
    const set = refused.length > 0 ? { refused: reasons } : {};
    const written = await deps.records.update(ref, { set, unset: ['seeds', 'due'] }, deps.newId());
    return written.outcome === 'written' ? written.after : graph;
  } catch (error) {
    // Somebody else may have made the last of them, and with that the requests are gone.
    const current = await deps.records.get(ref);
    if (current && !current.seeds) return current;
    throw error;
  }
};

export const onGraphDue = async (deps: Deps, graph: Graph): Promise<void> => {
  await grown(deps, graph);
};

/** Requests that have become tasks are not needed any more. */
export const graphEffects = ({ before, after }: RecordChange<Graph>): Effect[] =>
  before?.seeds && 'blob' in before.seeds && !after?.seeds ? [{ kind: 'forget', blob: before.seeds.blob }] : [];
