import * as z from 'zod';
import { TaskGraph, toGraphRequests } from '../../dialects/task-format/graph.ts';
import { taskFormatDialect } from '../../dialects/task-format/task-format.ts';
import { resolveActor } from '../../identity/auth/authenticate.ts';
import { toProtocolError } from '../../ingest/ingest-message.ts';
import { toCanonicalId } from '../../kernel/ids.ts';
import { GRAPH_ENDS } from '../../model/graph.ts';
import { createGraph } from '../../workflows/graphs/create-graph.ts';
import { cancelGraph } from '../../workflows/graphs/graph-lifecycle.ts';
import {
  awaitGraph,
  GraphSummary,
  GraphView,
  loadGraphView,
  toGraphSummary,
} from '../../workflows/graphs/graph-view.ts';
import { buildGraphQuery } from '../../workflows/graphs/list-graphs.ts';
import { defineRoute, largeBodyLimit, type Route, waitQuery } from '../route.ts';
import { NoticesView, onBehalfOf } from './common-fields.ts';
import {
  agentName,
  commaSeparated,
  LIST_DESCRIPTION,
  listPageShape,
  listQuery,
  loadPage,
  timeRange,
} from './list-query.ts';

export const graphRoutes: Route[] = [
  defineRoute({
    operationId: 'listGraphs',
    method: 'GET',
    path: '/v1/graphs',
    summary: 'List graphs, newest first, without the status of their nodes',
    query: z.strictObject({
      status: commaSeparated(['in_progress', ...GRAPH_ENDS]).optional(),
      requester: agentName.optional(),
      conversation: z.string().min(1).max(256).optional(),
      ...timeRange,
      ...listQuery,
    }),
    responses: {
      200: {
        description: LIST_DESCRIPTION,
        schema: z.object({ graphs: z.array(GraphSummary), ...listPageShape }),
      },
    },
    handle: async ({ deps, caller, query }) => {
      const { found, count, cursor } = await loadPage(deps, buildGraphQuery(caller, query), query);
      return { status: 200, body: { graphs: found.map(toGraphSummary), count, cursor } };
    },
  }),
  defineRoute({
    operationId: 'requestGraph',
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
    operationId: 'getGraph',
    method: 'GET',
    path: '/v1/graphs/{id}',
    summary: 'Get a graph with the status of each node. With `wait`, the response comes when the graph ends',
    query: z.strictObject({ wait: waitQuery }),
    responses: { 200: { description: 'The graph', schema: GraphView }, 404: { description: 'No such graph' } },
    handle: async ({ deps, caller, params, query, longPoll }) => {
      const id = toCanonicalId(params.id ?? '');
      return { status: 200, body: await awaitGraph(deps, caller, id, query.wait, longPoll.startWait(query.wait)) };
    },
  }),
  defineRoute({
    operationId: 'cancelGraph',
    method: 'POST',
    path: '/v1/graphs/{id}/cancel',
    scope: 'operate',
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
