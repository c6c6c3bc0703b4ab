import * as z from 'zod';
import { TaskGraph, toGraphRequests } from '../../dialects/task-format/graph.ts';
import { taskFormatDialect } from '../../dialects/task-format/task-format.ts';
import { resolveActor } from '../../identity/auth/authenticate.ts';
import { toProtocolError } from '../../ingest/ingest-message.ts';
import { toCanonicalId } from '../../kernel/ids.ts';
import { createGraph } from '../../workflows/graphs/create-graph.ts';
import { cancelGraph } from '../../workflows/graphs/graph-lifecycle.ts';
import { GraphView, getGraph, loadGraphView } from '../../workflows/graphs/graph-view.ts';
import { defineRoute, largeBodyLimit, type Route } from '../route.ts';
import { NoticesView, onBehalfOf } from './common-fields.ts';

export const graphRoutes: Route[] = [
  defineRoute({
    method: 'POST',
    path: '/v1/graphs',
    summary: 'Request a graph of tasks. Each node starts when its dependencies are completed',
    bodyBytes: largeBodyLimit,
    ingress: { from: ({ agent }) => agent, messages: ({ nodes }) => nodes.length },
    query: z.strictObject({ agent: onBehalfOf }),
    body: TaskGraph,
    responses: {
      200: { description: 'A duplicate: the same graph had been accepted before', schema: GraphView },
      202: { description: 'Accepted as a whole, and durable', schema: GraphView.extend(NoticesView.shape) },
      409: { description: 'Another graph or task has one of the ids' },
      422: { description: 'The dependencies have a cycle, or an agent or capability is unknown' },
    },
    handle: async ({ deps, caller, query, body, trace }) => {
      const { agent } = await resolveActor(deps, caller, query.agent);
      const { nodes, ...requests } = toGraphRequests(body, agent.id);
      const about = { id: body.graphId, from: agent.id, conversation: body.conversationId, nodes, trace };
      try {
        const { duplicate, graph, notices } = await createGraph(deps, caller, { ...about, ...requests });
        return { status: duplicate ? 200 : 202, body: { ...(await loadGraphView(deps, graph)), notices } };
      } catch (error) {
        throw toProtocolError(taskFormatDialect, error);
      }
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/graphs/{id}',
    summary: 'Get a graph with the status of each node',
    responses: { 200: { description: 'The graph', schema: GraphView }, 404: { description: 'No such graph' } },
    handle: async ({ deps, caller, params }) => ({
      status: 200,
      body: await getGraph(deps, caller, toCanonicalId(params.id ?? '')),
    }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/graphs/{id}/cancel',
    summary: 'Cancel all open nodes of a graph',
    responses: {
      200: { description: 'The cancelled graph', schema: GraphView },
      404: { description: 'No such graph' },
      409: { description: '`graph_ended`: no node is open' },
    },
    handle: async ({ deps, caller, params }) => ({
      status: 200,
      body: await cancelGraph(deps, caller, toCanonicalId(params.id ?? '')),
    }),
  }),
];
