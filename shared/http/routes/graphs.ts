import * as z from 'zod';
import { TaskGraph, toGraphRequests } from '../../dialects/task-format/graph.ts';
import { taskFormatDialect } from '../../dialects/task-format/task-format.ts';
import { resolveActor } from '../../identity/auth/authenticate.ts';
import { toProtocolError } from '../../ingest/ingest-message.ts';
import { toCanonicalId } from '../../kernel/ids.ts';
import { cancelGraph } from '../../workflows/graphs/cancel-graph.ts';
import { createGraph } from '../../workflows/graphs/create-graph.ts';
import { GraphView, getGraph, loadGraphView } from '../../workflows/graphs/graph-view.ts';
import { defineRoute, largeBodyLimit, noBody, noQuery, type Route } from '../route.ts';
import { NoticesView, onBehalfOf } from './common-fields.ts';

export const graphRoutes: Route[] = [
  defineRoute({
    method: 'POST',
    path: '/v1/graphs',
    summary: 'Ask for several tasks at once, each of which starts when those that it depends on are completed',
    bodyBytes: largeBodyLimit,
    ingress: { from: ({ agent }) => agent, messages: ({ nodes }) => nodes.length },
    query: z.strictObject({ agent: onBehalfOf }),
    body: TaskGraph,
    responses: {
      200: { description: 'The very same graph had been accepted before', schema: GraphView },
      202: { description: 'Accepted as a whole, and on disk', schema: GraphView.extend(NoticesView.shape) },
      409: { description: 'Another graph or task has one of its ids' },
      422: { description: 'A circle, or an agent or a capability that nobody knows' },
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
    summary: 'A graph with the status of each of its nodes',
    query: noQuery,
    body: noBody,
    responses: { 200: { description: 'The graph', schema: GraphView }, 404: { description: 'No such graph' } },
    handle: async ({ deps, caller, params }) => ({
      status: 200,
      body: await getGraph(deps, caller, toCanonicalId(params.id ?? '')),
    }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/graphs/{id}/cancel',
    summary: 'End every node of a graph that is still open',
    query: noQuery,
    body: noBody,
    responses: {
      200: { description: 'The graph, cancelled', schema: GraphView },
      404: { description: 'No such graph' },
      409: { description: 'graph_ended: none of its nodes is open any more' },
    },
    handle: async ({ deps, caller, params }) => ({
      status: 200,
      body: await cancelGraph(deps, caller, toCanonicalId(params.id ?? '')),
    }),
  }),
];
