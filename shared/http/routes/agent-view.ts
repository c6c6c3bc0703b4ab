import * as z from 'zod';
import { listDomains } from '../../config/project-settings.ts';
import { listServedDomains, type RegisteredAgent } from '../../identity/agents/agent.ts';
import { type Caller, findAgent } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { getInboxDepth, type InboxDepth } from '../../messaging/inbox/bounded-inbox.ts';
import { toIso } from '../../ports/clock.ts';
import { Registration, ShownRegistration } from '../../registration/register-agent.ts';
import { type AgentActivity, getAgentActivity } from '../../statistics/get-agent-activity.ts';
import { PauseView, toPauseView } from './pause-view.ts';
import { QueueCountView, toQueueCountView } from './queues.ts';

export const AgentView = z
  .object({
    ...ShownRegistration.shape,
    id: z.string(),
    domains: z.array(z.string()).describe('the domains that the agent serves completely'),
    serves: z.array(z.string()).describe('the domains in which the agent serves at least one capability'),
    registeredAt: z.iso.datetime(),
    health: z.object({
      online: z.boolean().optional().describe('absent until the first heartbeat'),
      status: z.string().optional(),
      lastSeen: z.iso.datetime().optional().describe('its last call or message, up to `agents.heartbeatMs` old'),
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
    paused: PauseView.optional().describe('set if the agent is paused, drains or is stopped'),
    activity: z
      .object({
        instances: z.array(z.object({ id: z.string(), lastSeen: z.iso.datetime() })).describe('those that are live'),
        held: QueueCountView.describe('the tasks that it holds'),
        inbox: QueueCountView.describe('the messages in its inbox'),
      })
      .optional()
      .describe('for operators and the agent itself'),
    inboxState: z
      .object({ depth: z.number(), evicted: z.number() })
      .optional()
      .describe('depth and evictions of a bounded inbox'),
  })
  .meta({ id: 'Agent' });

interface AgentDetails {
  depth?: InboxDepth | undefined;
  activity?: AgentActivity | undefined;
}

const toActivityView = ({ instances, held, inbox }: AgentActivity) => ({
  instances: instances.map(({ id, lastSeen }) => ({ id, lastSeen: toIso(lastSeen) })),
  held: toQueueCountView(held),
  inbox: toQueueCountView(inbox),
});

export const toAgentView = (
  deps: Deps,
  registered: RegisteredAgent,
  more: AgentDetails = {},
): z.output<typeof AgentView> => {
  const { depth, activity } = more;
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
    activity: activity && toActivityView(activity),
    inboxState: inboxLimit === undefined ? undefined : { depth: depth?.count ?? 0, evicted: depth?.evicted ?? 0 },
  };
};

export const getRegisteredAgent = async (deps: Deps, project: string, id: string): Promise<RegisteredAgent> => {
  const found = await findAgent(deps, project, id);
  if (!found) throw new ParleyError('agent_not_found', `No agent ${id} is registered.`);
  return found;
};

/** With what changes all the time, as it is now. */
export const loadAgentView = async (deps: Deps, caller: Caller, id: string): Promise<z.output<typeof AgentView>> => {
  // What it says of itself changes faster than what is remembered of it.
  deps.directory.invalidate(caller.project, id);
  const registered = await getRegisteredAgent(deps, caller.project, id);
  const { agent } = registered;
  const isShown = caller.role === 'admin' || caller.registered.agent.id === id;
  return toAgentView(deps, registered, {
    depth: agent.inboxLimit === undefined ? undefined : await getInboxDepth(deps.records, agent),
    activity: isShown ? await getAgentActivity(deps, agent) : undefined,
  });
};
