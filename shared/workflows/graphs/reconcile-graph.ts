import type { Deps } from '../../identity/deps.ts';
import { graphRef } from '../../model/graph.ts';
import { equals } from '../../ports/conditions.ts';
import { loadGraphView } from './graph-view.ts';

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
