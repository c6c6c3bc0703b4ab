import type { JsonObject } from '../../kernel/json/json.ts';
import { getDomain } from '../../ports/queues.ts';
import type { Item, Ref } from '../../ports/records.ts';
import type { AgentPause } from './agent-control.ts';

/** Agent ids become parts of subjects, queue names and keys. */
export const AGENT_ID = /^[a-z0-9_-]{1,64}$/;

/** A registered agent. */
export interface Agent extends Item {
  sk: 'agent';
  project: string;
  id: string;
  dialect: string;
  capabilities: string[];
  /** The domains that it serves as a whole, beside those of which it has a capability such as `security.*`. */
  domains?: string[];
  transport: 'http' | 'nats';
  versions?: string[];
  publicKey?: string;
  /** What becomes of its messages that are not signed with that key. */
  signing?: 'off' | 'warn' | 'enforce';
  limits?: JsonObject;
  manifest?: JsonObject;
  /** A coordinator may give orders to other agents, and speak to all of them at once. */
  role?: string;
  /** How many messages wait in its inbox at most, and what becomes of the next one. */
  inboxLimit?: number;
  overflow?: 'evict' | 'refuse';
  /** The channels that it may use; absent for `public` alone. */
  channels?: string[];
  /** What kind of worker runs its turns: only a `ui_worker` takes actions of a user interface. */
  workerTarget?: string;
  keyHash: string;
  registeredAt: number;
}

/** What an agent says of itself from time to time. It changes often, so it is a record of its own. */
export interface AgentHealth extends Item {
  sk: 'health';
  project: string;
  agent: string;
  online: boolean;
  /** Of the newest heartbeat; absent until the first one. */
  sentAt?: number;
  /** Which one that was, and when it came. */
  lastHeartbeat?: { id: string; fingerprint: string; at?: number };
  lastSeen?: number;
  status?: string;
  capabilities?: string[];
  uptime?: number;
  activeTaskCount?: number;
  model?: string;
  version?: string;
  /** The share of a processor, 0 to 1. */
  cpuUsage?: number;
  memoryMb?: number;
  /** How long a silence its dialect allows, where that is not what the configuration says. */
  silentMs?: number;
  /** Which of its instances the newest heartbeat was of, where they name one. */
  instance?: string;
  /** What it said of itself last, beside its heartbeats. */
  statusReport?: StatusReport & { at: number };
  pause?: AgentPause;
  /** When it must have shown that it is well. */
  checkBy?: number;
}

/** What an agent says it is doing, where that is about no task. */
export interface StatusReport {
  status: string;
  /** 0 to 1. */
  progress?: number;
  message?: string;
  confidence?: number;
  blockers?: string[];
}

export const isAgentHealth = (item: Item): item is AgentHealth => item.sk === 'health';

/**
 * That an agent of this name was removed. What was sent to it and what it asked for is known by its name, and kept for a time: as long
 * this stays, so that nobody gets it who is registered under the name by chance.
 */
export interface RemovedAgent extends Item {
  sk: 'agent-tombstone';
  removedAt: number;
}

export const removedRef = (project: string, id: string): Ref<RemovedAgent> => ({
  pk: agentPk(project, id),
  sk: 'agent-tombstone',
});

export const agentPk = (project: string, id: string): string => `${project}#agent#${id}`;
export const agentRef = (project: string, id: string): Ref<Agent> => ({ pk: agentPk(project, id), sk: 'agent' });
export const healthRef = (project: string, id: string): Ref<AgentHealth> => ({
  pk: agentPk(project, id),
  sk: 'health',
});
export const agentsKey = (project: string): string => `${project}#agents`;

/** An agent with its health, as far as it is known. */
export interface RegisteredAgent {
  agent: Agent;
  health?: AgentHealth;
}

/** What a registration declares. An administrator made it; what heartbeats say decides nothing. */
export type DeclaredCapabilities = Pick<Agent, 'capabilities' | 'domains'>;

/** The capability that stands for all of a domain. */
export const buildDomainWildcard = (domain: string): string => `${domain}.*`;

/** The domains of which the agent is handed everything. */
export const listWholeDomains = ({ capabilities, domains = [] }: DeclaredCapabilities): string[] => {
  if (!capabilities.some(isDomainWildcard)) return domains;
  return [...new Set([...domains, ...capabilities.filter(isDomainWildcard).map((star) => star.slice(0, -2))])];
};

const isDomainWildcard = (capability: string): boolean =>
  capability.endsWith('.*') && getDomain(capability)?.length === capability.length - 2;

/** The capabilities that the agent has in domains of which it is handed those alone. */
export const listExactCapabilities = (declared: DeclaredCapabilities): string[] => {
  const whole = listWholeDomains(declared);
  const exact = declared.capabilities.filter((capability) => {
    const domain = getDomain(capability);
    return domain !== undefined && !whole.includes(domain);
  });
  return [...new Set(exact)];
};

/** The domains of which the agent is handed anything. */
export const listServedDomains = ({ agent }: RegisteredAgent): string[] => [
  ...new Set([
    ...listWholeDomains(agent),
    ...listExactCapabilities(agent).flatMap((capability) => getDomain(capability) ?? []),
  ]),
];

/** Whether work of this kind, addressed to nobody, may be claimed by the agent. */
export const canServe = ({ agent }: RegisteredAgent, work: { domain?: unknown; capability?: unknown }): boolean =>
  listWholeDomains(agent).some((domain) => domain === work.domain) ||
  agent.capabilities.some((capability) => capability === work.capability);

/** The capabilities that belong to no domain, each with a queue of its own. */
export const listUnscopedCapabilities = (capabilities: readonly string[]): string[] => [
  ...new Set(capabilities.filter((capability) => getDomain(capability) === undefined)),
];
