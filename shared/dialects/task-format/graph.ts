import * as z from 'zod';
import { ParleyError } from '../../kernel/errors.ts';
import { boundedArray } from '../../kernel/json/bounded-schemas.ts';
import { jsonObject, jsonValue } from '../../kernel/json/parse-or-throw.ts';
import type { GraphNode } from '../../model/graph.ts';
import type { PendingRequest, RequestIssue } from '../../model/pending-request.ts';
import { MAX_DEPENDENCIES, ON_FAILURE } from '../../model/task.ts';
import { Limits } from '../codec-helpers.ts';
import { TASK_FORMAT } from './decode.ts';
import { TaskRequest } from './schema.ts';

const { id: taskId, type: capability, retryPolicy } = TaskRequest.shape;
const { conversationId, priority } = TaskRequest.shape.context.unwrap().shape;
const { target } = TaskRequest.shape.routing.unwrap().shape;

const SubmittedNode = z.strictObject({
  taskId,
  agent: target.describe('the agent. By default any provider of the capability'),
  capability,
  dependencies: boundedArray(taskId, { max: MAX_DEPENDENCIES })
    .default([])
    .describe('the nodes that must be completed first'),
  payload: jsonObject.default({}),
  priority,
  retryPolicy,
  limits: Limits,
  onFailure: z.enum(ON_FAILURE).optional().describe('overrides `onFailure` of the graph'),
  status: z
    .enum(['pending', 'completed'], 'must be pending or completed: what is under way elsewhere begins anew as pending')
    .default('pending')
    .describe('`completed` for a node that was done before the graph came here'),
  result: jsonValue.optional().describe('what a completed node brought'),
});
type SubmittedNode = z.output<typeof SubmittedNode>;

/** A graph as it is submitted: what a node depends on is said by the node or by an edge. */
export const TaskGraph = z.strictObject({
  graphId: taskId.describe('a repeated graph with the same id and content is a duplicate'),
  conversationId,
  nodes: boundedArray(SubmittedNode, { min: 1, max: 100 }),
  edges: boundedArray(z.strictObject({ from: taskId, to: taskId }), { max: 1000 }).default([]),
  onFailure: z
    .enum(ON_FAILURE)
    .default('fail')
    .describe('what happens to a node if a dependency is not completed. `skip` cancels the node'),
});
export type TaskGraph = z.output<typeof TaskGraph>;

/** The nodes as requests, in an order in which none comes before what it depends on, where there is one. */
export const toGraphRequests = (
  graph: TaskGraph,
  source: string,
): { nodes: GraphNode[]; pendingRequests: PendingRequest[]; issues: RequestIssue[] } => {
  const nodes = mergeEdges(graph);
  const { sorted, cycle } = sortByDependencies(nodes);
  const pendingRequests = sorted.map(
    ({
      taskId: id,
      agent,
      capability: type,
      dependencies,
      payload,
      priority: urgency,
      retryPolicy: retry,
      limits,
      onFailure,
      status,
      result = {},
    }) => ({
      dialect: TASK_FORMAT,
      graph: graph.graphId,
      ...(status === 'completed' && { completed: { output: result } }),
      message: {
        id,
        type,
        payload,
        context: { conversationId: graph.conversationId, priority: urgency, ...(limits && { limits }) },
        routing: { source, target: agent },
        retryPolicy: retry,
      },
      ...(dependencies.length > 0 &&
        status === 'pending' && { dependencyIds: dependencies, onFailure: onFailure ?? graph.onFailure }),
    }),
  );
  const shown = nodes.map(({ taskId: id, agent, capability: type, dependencies }) => ({
    taskId: id,
    agent,
    capability: type,
    dependencies,
  }));
  return {
    nodes: shown,
    pendingRequests,
    issues: [...(cycle ? [buildCycleIssue(cycle)] : []), ...checkGraph(graph, nodes)],
  };
};

const mergeEdges = ({ nodes, edges }: TaskGraph): SubmittedNode[] =>
  nodes.map((node) => {
    const before = edges.filter(({ to }) => to === node.taskId).map(({ from }) => from);
    return { ...node, dependencies: [...new Set([...node.dependencies, ...before])] };
  });

const sortByDependencies = (nodes: SubmittedNode[]): { sorted: SubmittedNode[]; cycle?: string[] } => {
  const sorted: SubmittedNode[] = [];
  for (let left = nodes; left.length > 0; ) {
    const ids = new Set(left.map((node) => node.taskId));
    const free = left.filter(({ dependencies }) => !dependencies.some((id) => ids.has(id)));
    if (free.length === 0) return { sorted: [...sorted, ...left], cycle: findCycle(left) };
    sorted.push(...free);
    left = left.filter((node) => !free.includes(node));
  }
  return { sorted };
};

/** Each of these depends on another of them: whoever goes back from one to the next comes round. */
const findCycle = (nodes: SubmittedNode[]): string[] => {
  const path: string[] = [];
  let at = nodes[0];
  while (at && !path.includes(at.taskId)) {
    path.push(at.taskId);
    const { dependencies } = at;
    at = nodes.find((node) => dependencies.includes(node.taskId));
  }
  return path.slice(path.indexOf(at?.taskId ?? '')).reverse();
};

const buildCycleIssue = (cycle: string[]): RequestIssue => {
  const round = [...cycle, cycle[0]].join(' → ');
  return {
    path: 'nodes',
    error: new ParleyError('task_graph_cycle', `go round in a circle: ${round}`, { details: { cycle } }),
  };
};

const checkGraph = ({ nodes, edges }: TaskGraph, joined: SubmittedNode[]): RequestIssue[] => {
  const ids = nodes.map((node) => node.taskId);
  const flaw = (path: string, message: string): RequestIssue => ({
    path,
    error: new ParleyError('invalid_request', message),
  });
  const known = (path: string, id: string): RequestIssue[] =>
    ids.includes(id) ? [] : [flaw(path, `no node is ${id}`)];
  return [
    ...nodes.flatMap((node, at) => [
      ...(ids.indexOf(node.taskId) < at ? [flaw(`nodes[${at}].taskId`, 'must not be that of another node')] : []),
      ...(node.status === 'pending' && node.result !== undefined
        ? [flaw(`nodes[${at}].result`, 'is for the status completed only')]
        : []),
      ...node.dependencies.flatMap((id, n) => known(`nodes[${at}].dependencies[${n}]`, id)),
    ]),
    ...edges.flatMap(({ from, to }, at) => [...known(`edges[${at}].from`, from), ...known(`edges[${at}].to`, to)]),
    ...joined.flatMap(({ dependencies }, at) =>
      dependencies.length > MAX_DEPENDENCIES
        ? [flaw(`nodes[${at}]`, `must depend on ${MAX_DEPENDENCIES} others at the most`)]
        : [],
    ),
  ];
};
