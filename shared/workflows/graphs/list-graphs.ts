import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Graph } from '../../model/graph.ts';
import { and, equals, equalsAny } from '../../ports/conditions.ts';
import type { ListedFields, ListQuery } from '../../ports/lists.ts';

export interface GraphFilter {
  /** One of them. */
  status?: readonly string[] | undefined;
  requester?: string | undefined;
  conversation?: string | undefined;
  since?: number | undefined;
  until?: number | undefined;
}

export const toListedGraph = (graph: Graph): ListedFields => ({
  createdAt: graph.createdAt,
  status: graph.end?.status ?? 'in_progress',
  requester: graph.from,
  conversation: graph.conversation,
});

/** Agents see those that they requested. */
export const buildGraphQuery = (caller: Caller, filter: GraphFilter): ListQuery<Graph> => {
  const { status, since, until } = filter;
  const where = and(
    ...(status ? [equalsAny('status', ...status)] : []),
    ...(['requester', 'conversation'] as const).flatMap((field) =>
      filter[field] === undefined ? [] : [equals(field, filter[field])],
    ),
    ...(caller.role === 'agent' ? [equals('requester', caller.registered.agent.id)] : []),
  );
  return { project: caller.project, kind: 'graph', toFields: toListedGraph, where, since, until };
};
