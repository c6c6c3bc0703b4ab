import * as z from 'zod';
import { listDomains } from '../../config/config.ts';
import {
  type Agent,
  agentsKey,
  healthRef,
  listServedDomains,
  type RegisteredAgent,
} from '../../identity/agents/agent.ts';
import { DEFAULT_KEY } from '../../identity/auth/api-key.ts';
import { findAgent } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { getInboxDepth, type InboxDepth } from '../../messaging/inbox/bounded-inbox.ts';
import { toIso } from '../../ports/clock.ts';
import { rotateApiKey } from '../../registration/manage-keys.ts';
import { deregisterAgent, Registration, registerAgent, ShownRegistration } from '../../registration/register-agent.ts';
import { boundedCount, defineKeyRoute, defineRoute, type Route, recordBodyLimit } from '../route.ts';
import { PauseView, toPauseView } from './pause-view.ts';

const AgentView = z
  .object({
    ...ShownRegistration.shape,
    id: z.string(),
    domains: z.array(z.string()).describe('the domains that the agent serves completely'),
    serves: z.array(z.string()).describe('the domains in which the agent serves at least one capability'),
    registeredAt: z.iso.datetime(),
    health: z.object({
      online: z.boolean().optional().describe('absent until the first heartbeat'),
      status: z.string().optional(),
      lastSeen: z.iso.datetime().optional(),
      uptime: z.number().optional(),
      activeTaskCount: z.number().optional(),
      model: z.string().optional(),
      version: z.string().optional(),
      capabilities: z.array(z.string()).optional(),
      cpuUsage: z.number().optional().describe('share of a processor, 0 to 1'),
      memoryMb: z.number().optional(),
      statusReport: z
        .looseObject({ status: z.string(), at: z.iso.datetime() })
        .optional()
        .describe('the last status report'),
    }),
    paused: PauseView.optional().describe('set if the agent is paused or stopped'),
    inboxState: z
      .object({ depth: z.number(), evicted: z.number() })
      .optional()
      .describe('depth and evictions of a bounded inbox'),
  })
  .meta({ id: 'Agent' });

const toAgentView = (deps: Deps, registered: RegisteredAgent, depth?: InboxDepth): z.output<typeof AgentView> => {
  const { agent, health } = registered;
  const { id, dialect, capabilities, transport, versions, publicKey, limits, manifest, registeredAt } = agent;
  const { inboxLimit, overflow, channels, workerTarget } = agent;
  return {
    id,
    dialect: Registration.shape.dialect.parse(dialect),
    profile: Registration.shape.profile.parse(agent.profile),
    capabilities,
    schemas: agent.schemas,
    domains: agent.domains ?? [],
    serves: listServedDomains(registered).filter((domain) => listDomains(deps.config, agent.project).includes(domain)),
    transport: Registration.shape.transport.parse(transport),
    url: agent.url,
    versions,
    publicKey,
    encryptionKey: agent.encryptionKey,
    signing: agent.signing,
    limits,
    role: Registration.shape.role.parse(agent.role),
    inbox: agent.inbox,
    inboxLimit,
    overflow,
    manifest,
    agentCard: agent.agentCard,
    channels,
    workerTarget,
    registeredAt: toIso(registeredAt),
    health: {
      online: health?.sentAt === undefined ? undefined : health.online,
      status: health?.status,
      lastSeen: toIso(health?.lastSeen),
      uptime: health?.uptime,
      activeTaskCount: health?.activeTaskCount,
      model: health?.model,
      version: health?.version,
      capabilities: health?.capabilities,
      cpuUsage: health?.cpuUsage,
      memoryMb: health?.memoryMb,
      statusReport: health?.statusReport && { ...health.statusReport, at: toIso(health.statusReport.at) },
    },
    paused: toPauseView(deps, registered),
    inboxState: inboxLimit === undefined ? undefined : { depth: depth?.count ?? 0, evicted: depth?.evicted ?? 0 },
  };
};

const getRegisteredAgent = async (deps: Deps, project: string, id: string): Promise<RegisteredAgent> => {
  const found = await findAgent(deps, project, id);
  if (!found) throw new ParleyError('agent_not_found', `No agent ${id} is registered.`);
  return found;
};

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
    summary: 'Get an agent with its health',
    responses: { 200: { description: 'The agent', schema: AgentView }, ...notFound },
    handle: async ({ deps, caller, params }) => {
      // What it says of itself changes faster than what is remembered of it.
      deps.directory.invalidate(caller.project, params.id ?? '');
      const registered = await getRegisteredAgent(deps, caller.project, params.id ?? '');
      const depth =
        registered.agent.inboxLimit === undefined ? undefined : await getInboxDepth(deps.records, registered.agent);
      return { status: 200, body: toAgentView(deps, registered, depth) };
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
