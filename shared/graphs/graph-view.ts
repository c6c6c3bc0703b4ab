import * as z from 'zod';
import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { iso } from '../json/iso.ts';
import { type Task, taskRef } from '../tasks/task.ts';
import { TaskView, viewOf } from '../tasks/task-view.ts';
import { GRAPH_ENDS, type Graph, type GraphNode, graphRef } from './graph.ts';

const { status, state, input, error, metadata, progress } = TaskView.shape;

const NodeView = z.object({
  taskId: z.string(),
  agent: z.string().optional(),
  capability: z.string(),
  dependencies: z.array(z.string()),
  status: status.optional().describe('absent where the task is no longer kept'),
  state: state.optional(),
  input,
  error,
  metadata: metadata.optional(),
  progress,
});
type NodeView = z.output<typeof NodeView>;

export const GraphView = z.object({
  graphId: z.string(),
  conversationId: z.string().optional(),
  status: z
    .enum(['in_progress', ...GRAPH_ENDS])
    .describe('completed once all nodes are; failed or cancelled once none is open and one is that'),
  nodes: z.array(NodeView),
  edges: z.array(z.object({ from: z.string(), to: z.string() })),
  createdAt: z.iso.datetime(),
  endedAt: z.iso.datetime().optional(),
  cancelledBy: z.string().optional(),
});
export type GraphView = z.output<typeof GraphView>;

/** The graph with what each of its nodes is at, for whoever asked for it. */
export const lookUpGraph = async (deps: Deps, caller: Caller, id: string): Promise<GraphView> =>
  graphView(deps, await findGraph(deps, caller, id));

export const findGraph = async (deps: Deps, caller: Caller, id: string): Promise<Graph> => {
  const graph = await deps.records.get(graphRef(caller.project, id));
  const isVisible = graph && (caller.role === 'admin' || caller.known.agent.id === graph.from);
  if (isVisible) return graph;
  throw new ParleyError('graph_not_found', `There is no graph ${id}.`);
};

export const graphView = async (deps: Deps, graph: Graph): Promise<GraphView> => {
  const tasks = await deps.records.getMany(graph.nodes.map(({ taskId }) => taskRef(graph.project, taskId)));
  const nodes = graph.nodes.map((node) => {
    const task = tasks.find(({ id }) => id === node.taskId);
    return { ...node, ...nodeView(graph, node, task) };
  });
  const status = statusOf(nodes);
  return {
    graphId: graph.id,
    conversationId: graph.conversation,
    status,
    nodes,
    edges: graph.nodes.flatMap(({ taskId: to, dependencies }) => dependencies.map((from) => ({ from, to }))),
    createdAt: iso(graph.createdAt),
    endedAt: graph.ended && status !== 'in_progress' ? iso(graph.ended.at) : undefined,
    cancelledBy: graph.cancelledBy,
  };
};

const nodeView = (graph: Graph, { taskId }: GraphNode, task: Task | undefined): Partial<NodeView> => {
  const refused = graph.refused?.[taskId];
  if (refused !== undefined) {
    return { status: 'failed', error: { code: 'refused', message: refused, recoverable: false } };
  }
  if (!task && graph.cancelledAt !== undefined) return { status: 'cancelled' };
  if (!task) return graph.seeds ? { status: 'pending' } : {};
  const { status, state, input, error, metadata, progress } = viewOf(task);
  return { status, state, input, error, metadata, progress };
};

const statusOf = (nodes: Partial<NodeView>[]): GraphView['status'] => {
  const is = (...statuses: NodeView['status'][]): boolean => nodes.some((node) => statuses.includes(node.status));
  if (is('pending', 'in_progress', 'input_required')) return 'in_progress';
  return is('failed') ? 'failed' : is('cancelled') ? 'cancelled' : 'completed';
};
