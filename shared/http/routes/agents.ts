import * as z from 'zod';
import { type Agent, agentsKey, healthRef } from '../../identity/agents/agent.ts';
import { DEFAULT_KEY } from '../../identity/auth/api-key.ts';
import { rotateApiKey } from '../../registration/manage-keys.ts';
import { deregisterAgent, Registration, registerAgent } from '../../registration/register-agent.ts';
import { boundedCount, defineKeyRoute, defineRoute, type Route, recordBodyLimit } from '../route.ts';
import { AgentView, getRegisteredAgent, loadAgentView, toAgentView } from './agent-view.ts';

const ShownKey = z.string().describe('shown once. Parley stores only its hash');
const notFound = { 404: { description: 'No such agent' } };

export const agentRoutes: Route[] = [
  defineKeyRoute({
    operationId: 'putAgent',
    method: 'PUT',
    path: '/v1/agents/{id}',
    summary: 'Register an agent, or change its registration',
    access: 'admin',
    bodyBytes: recordBodyLimit,
    query: z.strictObject({
      inherit: z
        .enum(['true', 'false'])
        .default('false')
        .describe('`true`: the agent inherits the inbox, tasks and turns of the removed agent with this name'),
    }),
    body: Registration,
    responses: {
      200: { description: 'Changed', schema: z.object({ agent: AgentView }) },
      201: { description: 'Registered', schema: z.object({ agent: AgentView, key: ShownKey }) },
      409: { description: '`agent_removed`: an agent with this name was removed, and its messages are still stored' },
    },
    handle: async ({ deps, caller, params, query, body }) => {
      const id = params.id ?? '';
      const { key } = await registerAgent(deps, caller.project, id, body, { inherit: query.inherit === 'true' });
      return {
        status: key ? 201 : 200,
        body: { agent: toAgentView(deps, await getRegisteredAgent(deps, caller.project, id)), key },
      };
    },
  }),
  defineRoute({
    operationId: 'listAgents',
    method: 'GET',
    path: '/v1/agents',
    summary: 'List agents by id',
    query: z.strictObject({ limit: boundedCount(100, 50), cursor: z.string().max(64).optional() }),
    responses: {
      200: {
        description: 'A page. With a `cursor` there may be more',
        schema: z.object({ agents: z.array(AgentView), cursor: z.string().optional() }),
      },
    },
    handle: async ({ deps, caller: { project }, query: { limit, cursor } }) => {
      const agents = await deps.records.query<Agent>({
        index: 'byList',
        pk: agentsKey(project),
        after: cursor,
        limit,
      });
      const healths = await deps.records.getMany(agents.map(({ id }) => healthRef(project, id)));
      const registered = agents.map((agent) => ({
        agent,
        health: healths.find((health) => health.agent === agent.id),
      }));
      return {
        status: 200,
        body: {
          agents: registered.map((one) => toAgentView(deps, one)),
          cursor: agents.length === limit ? agents.at(-1)?.id : undefined,
        },
      };
    },
  }),
  defineRoute({
    operationId: 'getAgent',
    method: 'GET',
    path: '/v1/agents/{id}',
    summary: 'Get an agent with its health, its instances, and what it holds',
    responses: { 200: { description: 'The agent', schema: AgentView }, ...notFound },
    handle: async ({ deps, caller, params }) => {
      return { status: 200, body: await loadAgentView(deps, caller, params.id ?? '') };
    },
  }),
  defineKeyRoute({
    operationId: 'removeAgent',
    method: 'DELETE',
    path: '/v1/agents/{id}',
    summary: 'Remove an agent. Its key stops working',
    access: 'admin',
    responses: { 204: { description: 'Removed' }, ...notFound },
    handle: async ({ deps, caller, params }) => {
      await deregisterAgent(deps, caller.project, params.id ?? '');
      return { status: 204 };
    },
  }),
  defineKeyRoute({
    operationId: 'createAgentKey',
    method: 'POST',
    path: '/v1/agents/{id}/key',
    summary: 'Replace the key `default` of an agent, which stops working at once',
    unrepeatable: 'its answer is a secret, which is not kept.',
    access: 'admin',
    responses: { 200: { description: 'The new key', schema: z.object({ key: ShownKey }) }, ...notFound },
    handle: async ({ deps, caller, params }) => {
      const { id: agent = '' } = params;
      await getRegisteredAgent(deps, caller.project, agent);
      const { key } = await rotateApiKey(deps, caller.project, { agent, name: DEFAULT_KEY }, 0);
      return { status: 200, body: { key } };
    },
  }),
];
