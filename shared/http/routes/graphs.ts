import * as z from 'zod';
import { agentBehind } from '../../agents/authenticate.ts';
import { seedsOf, TaskGraph } from '../../dialects/task-format/graph.ts';
import { taskFormat } from '../../dialects/task-format/task-format.ts';
import { cancelGraph } from '../../graphs/cancel-graph.ts';
import { GraphView, graphView, lookUpGraph } from '../../graphs/graph-view.ts';
import { submitGraph } from '../../graphs/submit-graph.ts';
import { canonicalId } from '../../ids.ts';
import { inWordsOf } from '../../messages/receive.ts';
import { noBody, noQuery, type Route, route } from '../route.ts';
import { speaksFor } from './agent-fields.ts';

export const graphRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/v1/graphs',
    summary: 'Ask for several tasks at once, each of which starts when those that it depends on are completed',
    query: z.strictObject({ agent: speaksFor }),
    body: TaskGraph,
    answers: {
      200: { description: 'The very same graph had been accepted before', schema: GraphView },
      202: { description: 'Accepted as a whole, and on disk', schema: GraphView },
      409: { description: 'Another graph or task has one of its ids' },
      422: { description: 'A circle, or an agent or a capability that nobody knows' },
    },
    handle: async ({ deps, caller, query, body, trace }) => {
      const { agent } = await agentBehind(deps, caller, query.agent);
      const { nodes, ...requests } = seedsOf(body, agent.id);
      const about = { id: body.graphId, from: agent.id, conversation: body.conversationId, nodes, trace };
      try {
        const { duplicate, graph } = await submitGraph(deps, caller, { ...about, ...requests });
        return { status: duplicate ? 200 : 202, body: await graphView(deps, graph) };
      } catch (error) {
        throw inWordsOf(taskFormat, error);
      }
    },
  }),
  route({
    method: 'GET',
    path: '/v1/graphs/{id}',
    summary: 'A graph with the status of each of its nodes',
    query: noQuery,
    body: noBody,
    answers: { 200: { description: 'The graph', schema: GraphView }, 404: { description: 'No such graph' } },
    handle: async ({ deps, caller, params }) => ({
      status: 200,
      body: await lookUpGraph(deps, caller, canonicalId(params.id ?? '')),
    }),
  }),
  route({
    method: 'POST',
    path: '/v1/graphs/{id}/cancel',
    summary: 'End every node of a graph that is still open',
    query: noQuery,
    body: noBody,
    answers: {
      200: { description: 'The graph, cancelled', schema: GraphView },
      404: { description: 'No such graph' },
      409: { description: 'graph_ended: none of its nodes is open any more' },
    },
    handle: async ({ deps, caller, params }) => ({
      status: 200,
      body: await cancelGraph(deps, caller, canonicalId(params.id ?? '')),
    }),
  }),
];
