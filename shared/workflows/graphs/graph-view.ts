import * as z from 'zod';
import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { GRAPH_ENDS, type Graph, type GraphNode, graphRef } from '../../model/graph.ts';
import { isAssigned, type Task, taskRef } from '../../model/task.ts';
import { toIso } from '../../ports/clock.ts';
import { waitUntil } from '../../storage/wait-until.ts';
import { TaskView, toTaskView } from '../../tasks/queries/task-view.ts';

const { status, state, input, error, metadata, progress } = TaskView.shape;

const NodeView = z.object({
  taskId: z.string(),
  agent: z.string().optional(),
  capability: z.string().optional().describe('absent if the reader may not read the node'),
  dependencies: z.array(z.string()),
  status: status.optional().describe('absent if the task is no longer stored'),
  state: state.optional(),
  input,
  error,
  metadata: metadata.optional(),
  progress,
});
type NodeView = z.output<typeof NodeView>;

export const GraphView = z
  .object({
    graphId: z.string(),
    conversationId: z.string().optional(),
    status: z
      .enum(['in_progress', ...GRAPH_ENDS])
      .describe('`completed` if all nodes are; `failed` or `cancelled` if no node is open and one is'),
    nodes: z.array(NodeView),
    edges: z.array(z.object({ from: z.string(), to: z.string() })),
    createdAt: z.iso.datetime(),
    endedAt: z.iso.datetime().optional(),
    cancelledBy: z.string().optional(),
  })
  .meta({ id: 'Graph' });
export type GraphView = z.output<typeof GraphView>;

/** In a list. */
export const GraphSummary = GraphView.omit({ nodes: true, edges: true })
  .extend({
    from: z.string(),
    nodes: z.number(),
  })
  .meta({ id: 'GraphSummary' });

export const toGraphSummary = (graph: Graph): z.output<typeof GraphSummary> => ({
  graphId: graph.id,
  conversationId: graph.conversation,
  status: graph.end?.status ?? 'in_progress',
  createdAt: toIso(graph.createdAt),
  endedAt: toIso(graph.end?.at),
  cancelledBy: graph.cancelledBy,
  from: graph.from,
  nodes: graph.nodes.length,
});

/** With `waitMs`, returns when the graph has ended, or after that time. */
export const awaitGraph = (
  deps: Deps,
  caller: Caller,
  id: string,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<GraphView> => {
  const read = (): Promise<GraphView> => getGraph(deps, caller, id);
  const { pk } = graphRef(caller.project, id);
  return waitUntil(deps, [pk], { waitMs, signal }, read, (graph) => graph.status !== 'in_progress');
};

/** For the requester, or for the holder of a node with what it may see. */
const getGraph = async (deps: Deps, caller: Caller, id: string): Promise<GraphView> => {
  const graph = await deps.records.get(graphRef(caller.project, id));
  if (!graph) throw graphNotFoundError(id);
  const tasks = await listNodeTasks(deps, graph);
  const whole = buildGraphView(graph, tasks);
  if (caller.role === 'admin' || isRequester(caller, graph)) return whole;
  const agent = caller.registered.agent.id;
  const held = tasks.filter((task) => task.holder === agent && isAssigned(task));
  if (held.length === 0) throw graphNotFoundError(id);
  const seen = new Set(held.flatMap((task) => [task.id, ...(task.dependencyIds ?? [])]));
  const nodes = whole.nodes.map((node) => (seen.has(node.taskId) ? node : redactNode(node)));
  return { ...whole, nodes };
};

const redactNode = ({ taskId, dependencies, status: at }: NodeView): NodeView => ({ taskId, dependencies, status: at });

const isRequester = (caller: Caller, graph: Graph): boolean =>
  caller.role === 'agent' && caller.registered.agent.id === graph.from;

export const getOwnGraph = async (deps: Deps, caller: Caller, id: string): Promise<Graph> => {
  const graph = await deps.records.get(graphRef(caller.project, id));
  if (graph && (caller.role === 'admin' || isRequester(caller, graph))) return graph;
  throw graphNotFoundError(id);
};

const graphNotFoundError = (id: string): ParleyError => new ParleyError('graph_not_found', `There is no graph ${id}.`);

const listNodeTasks = (deps: Deps, graph: Graph): Promise<Task[]> =>
  deps.records.getMany(graph.nodes.map(({ taskId }) => taskRef(graph.project, taskId)));

export const loadGraphView = async (deps: Deps, graph: Graph): Promise<GraphView> =>
  buildGraphView(graph, await listNodeTasks(deps, graph));

const buildGraphView = (graph: Graph, tasks: Task[]): GraphView => {
  const nodes = graph.nodes.map((node) => {
    const task = tasks.find(({ id }) => id === node.taskId);
    return { ...node, ...buildNodeView(graph, node, task) };
  });
  const status = computeGraphStatus(nodes);
  return {
    graphId: graph.id,
    conversationId: graph.conversation,
    status,
    nodes,
    edges: graph.nodes.flatMap(({ taskId: to, dependencies }) => dependencies.map((from) => ({ from, to }))),
    createdAt: toIso(graph.createdAt),
    endedAt: graph.end && status !== 'in_progress' ? toIso(graph.end.at) : undefined,
    cancelledBy: graph.cancelledBy,
  };
};

const buildNodeView = (graph: Graph, { taskId }: GraphNode, task: Task | undefined): Partial<NodeView> => {
  const refused = graph.rejected?.[taskId];
  if (refused !== undefined) {
    return { status: 'failed', error: { code: 'refused', message: refused, recoverable: false } };
  }
  if (!task && graph.cancelledAt !== undefined) return { status: 'cancelled' };
  if (!task) return graph.pendingRequests ? { status: 'pending' } : {};
  const { status, state, input, error, metadata, progress } = toTaskView(task);
  return { status, state, input, error, metadata, progress };
};

const computeGraphStatus = (nodes: Partial<NodeView>[]): GraphView['status'] => {
  const is = (...statuses: NodeView['status'][]): boolean => nodes.some((node) => statuses.includes(node.status));
  if (is('pending', 'in_progress', 'input_required')) return 'in_progress';
  return is('failed') ? 'failed' : is('cancelled') ? 'cancelled' : 'completed';
};
