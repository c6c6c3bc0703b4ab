import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { measureJson } from '../../kernel/json/json.ts';
import { RELATED_RETENTION_MS } from '../../kernel/retention.ts';
import { assertSameRequest } from '../../kernel/same-request.ts';
import { pickCallTrace, type Trace } from '../../kernel/trace.ts';
import { type Graph, type GraphNode, graphRef } from '../../model/graph.ts';
import type { PendingRequest, RequestIssue } from '../../model/pending-request.ts';
import { deleteOrphans, storeContent } from '../../storage/content.ts';
import { CREATE_RETRY_MS, checkRequests, formatNotices, rejectedRequestsError } from '../deferred/create-pending.ts';
import { createTasks } from './create-tasks.ts';

interface NewGraph {
  id: string;
  from: string;
  conversation?: string;
  nodes: GraphNode[];
  /** In order of dependencies. */
  pendingRequests: PendingRequest[];
  /** Errors of the graph itself. */
  issues: RequestIssue[];
  trace: Trace;
}

interface CreateGraphResult {
  duplicate: boolean;
  graph: Graph;
  /** Warnings about accepted requests. */
  notices?: string[];
}

/** Accepts all nodes or none. Tasks are created before this resolves or, after a crash, by the timer. */
export const createGraph = async (
  deps: Deps,
  caller: Caller,
  { id, from, conversation, nodes, pendingRequests, issues, trace }: NewGraph,
): Promise<CreateGraphResult> => {
  const { project } = caller;
  const fingerprint = computeFingerprint([from, conversation, pendingRequests]);
  const earlier = await deps.records.get(graphRef(project, id));
  if (earlier) return resumeDuplicateGraph(deps, earlier, fingerprint);
  const pathOf = ({ message }: PendingRequest) => `nodes[${nodes.findIndex(({ taskId }) => taskId === message.id)}]`;
  const wrong = [...issues, ...(await checkRequests(deps, caller, { from, trace }, pendingRequests, pathOf))];
  if (wrong.length > 0) throw rejectedRequestsError('The graph', wrong);
  const content = await storeContent(deps, project, id, measureJson(pendingRequests));
  const now = deps.clock.now();
  const made = await deps.records.create<Graph>(
    {
      ...graphRef(project, id),
      sk: 'graph',
      project,
      id,
      from,
      conversation,
      nodes,
      pendingRequests: content,
      fingerprint,
      createdAt: now,
      ...pickCallTrace(trace),
      expires: now + RELATED_RETENTION_MS,
      due: now + CREATE_RETRY_MS,
    },
    deps.newId(),
  );
  if (made.outcome === 'written') {
    const { graph, notices = new Map() } = await createTasks(deps, made.after);
    const ids = nodes.map(({ taskId }) => taskId);
    return { duplicate: false, graph, notices: formatNotices(notices, 'nodes', ids) };
  }
  await deleteOrphans(deps.blobs, [content], [made.existing?.pendingRequests]);
  if (!made.existing) throw new ParleyError('conflict', `The graph ${id} is no longer kept. Try again.`);
  return resumeDuplicateGraph(deps, made.existing, fingerprint);
};

const resumeDuplicateGraph = async (deps: Deps, graph: Graph, fingerprint: string): Promise<CreateGraphResult> => {
  assertSameRequest(graph, fingerprint, `graph with the id ${graph.id}`);
  return { duplicate: true, graph: (await createTasks(deps, graph)).graph };
};
