import * as z from 'zod';
import { type Agent, agentsPlace, healthRef, type Known, servedDomains } from '../../agents/agent.ts';
import { find, requireAdmin } from '../../agents/authenticate.ts';
import { deregister, Registration, register, rotateKey } from '../../agents/register.ts';
import type { Deps } from '../../deps.ts';
import { ParleyError } from '../../errors.ts';
import { type Depth, depthOf } from '../../inbox/arrivals.ts';
import { iso } from '../../json/iso.ts';
import { countUpTo, noBody, noQuery, type Route, route } from '../route.ts';
import { Resting, restingView } from './resting.ts';

const AgentView = z.object({
  ...Registration.shape,
  id: z.string(),
  domains: z.array(z.string()),
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
    cpuUsage: z.number().optional().describe('the share of a processor, 0 to 1'),
    memoryMb: z.number().optional(),
    saying: z.looseObject({ status: z.string(), at: z.iso.datetime() }).optional().describe('what it said last'),
  }),
  resting: Resting.optional().describe('why it is given no work: it was paused or stopped'),
  inbox: z
    .object({ depth: z.number(), evicted: z.number() })
    .optional()
    .describe('where it has a limit: how many messages wait, and how many had to go for others'),
});

const viewOf = (deps: Deps, known: Known, depth?: Depth): z.output<typeof AgentView> => {
  const { agent, health } = known;
  const { id, dialect, capabilities, via, versions, publicKey, limits, manifest, registeredAt } = agent;
  const { inboxLimit, overflow, channels, workerTarget } = agent;
  return {
    id,
    dialect: Registration.shape.dialect.parse(dialect),
    capabilities,
    domains: servedDomains(known),
    via,
    versions,
    publicKey,
    signing: agent.signing,
    limits,
    role: Registration.shape.role.parse(agent.role),
    inboxLimit,
    overflow,
    manifest,
    channels,
    workerTarget,
    registeredAt: iso(registeredAt),
    health: {
      online: health?.sentAt === undefined ? undefined : health.online,
      status: health?.status,
      lastSeen: iso(health?.lastSeen),
      uptime: health?.uptime,
      activeTaskCount: health?.activeTaskCount,
      model: health?.model,
      version: health?.version,
      capabilities: health?.capabilities,
      cpuUsage: health?.cpuUsage,
      memoryMb: health?.memoryMb,
      saying: health?.saying && { ...health.saying, at: iso(health.saying.at) },
    },
    resting: restingView(deps, known),
    inbox: inboxLimit === undefined ? undefined : { depth: depth?.count ?? 0, evicted: depth?.evicted ?? 0 },
  };
};

const registeredAgent = async (deps: Deps, project: string, id: string): Promise<Known> => {
  const found = await find(deps, project, id);
  if (!found) throw new ParleyError('agent_not_found', `No agent ${id} is registered.`);
  return found;
};

const Key = z.string().describe('shown once; only its hash is kept');
const notFound = { 404: { description: 'No such agent' } };

export const agentRoutes: Route[] = [
  route({
    method: 'PUT',
    path: '/v1/agents/{id}',
    summary: 'Register an agent, or change its registration (admin)',
    query: noQuery,
    body: Registration,
    answers: {
      200: { description: 'Changed', schema: z.object({ agent: AgentView }) },
      201: { description: 'Registered', schema: z.object({ agent: AgentView, key: Key }) },
    },
    handle: async ({ deps, caller, params, body }) => {
      requireAdmin(caller);
      const id = params.id ?? '';
      const { key } = await register(deps, caller.project, id, body);
      return {
        status: key ? 201 : 200,
        body: { agent: viewOf(deps, await registeredAgent(deps, caller.project, id)), key },
      };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/agents',
    summary: 'The registered agents, by id',
    query: z.strictObject({ limit: countUpTo(100, 50), cursor: z.string().max(64).optional() }),
    body: noBody,
    answers: {
      200: {
        description: 'A page; with a cursor, there may be more',
        schema: z.object({ agents: z.array(AgentView), cursor: z.string().optional() }),
      },
    },
    handle: async ({ deps, caller: { project }, query: { limit, cursor } }) => {
      const agents = await deps.records.query<Agent>({
        index: 'placed',
        p: agentsPlace(project),
        after: cursor,
        limit,
      });
      const healths = await deps.records.getMany(agents.map(({ id }) => healthRef(project, id)));
      const known = agents.map((agent) => ({ agent, health: healths.find((health) => health.agent === agent.id) }));
      return {
        status: 200,
        body: {
          agents: known.map((one) => viewOf(deps, one)),
          cursor: agents.length === limit ? agents.at(-1)?.id : undefined,
        },
      };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/agents/{id}',
    summary: 'One agent with its health',
    query: noQuery,
    body: noBody,
    answers: { 200: { description: 'The agent', schema: AgentView }, ...notFound },
    handle: async ({ deps, caller, params }) => {
      // What it says of itself changes faster than what is remembered of it.
      deps.directory.forget(caller.project, params.id ?? '');
      const known = await registeredAgent(deps, caller.project, params.id ?? '');
      const depth = known.agent.inboxLimit === undefined ? undefined : await depthOf(deps.records, known.agent);
      return { status: 200, body: viewOf(deps, known, depth) };
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/agents/{id}',
    summary: 'Remove an agent; its key stops working (admin)',
    query: noQuery,
    body: noBody,
    answers: { 204: { description: 'Removed' }, ...notFound },
    handle: async ({ deps, caller, params }) => {
      requireAdmin(caller);
      await deregister(deps, caller.project, params.id ?? '');
      return { status: 204 };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/agents/{id}/key',
    summary: 'Give an agent a new key; the old one stops working (admin)',
    query: noQuery,
    body: noBody,
    answers: { 200: { description: 'The new key', schema: z.object({ key: Key }) }, ...notFound },
    handle: async ({ deps, caller, params }) => {
      requireAdmin(caller);
      return { status: 200, body: { key: await rotateKey(deps, caller.project, params.id ?? '') } };
    },
  }),
];
