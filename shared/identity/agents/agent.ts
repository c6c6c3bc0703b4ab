import type { JsonObject } from '../../kernel/json/json.ts';
import { getDomain } from '../../ports/queues.ts';
import type { Item, Ref } from '../../ports/records.ts';
import type { ApiKey } from '../auth/api-key.ts';
import type { AgentPause } from './agent-control.ts';

/** Part of NATS subjects, queue names and keys. */
export const AGENT_ID = /^[a-z0-9_-]{1,64}$/;

export interface Agent extends Item {
  sk: 'agent';
  project: string;
  id: string;
  dialect: string;
  /** How it speaks the dialect, where that is not as the document says. */
  profile?: string;
  capabilities: string[];
  /** What tasks of a capability bring and give, as JSON Schemas. */
  schemas?: Record<string, CapabilitySchemas>;
  /** In addition to capabilities such as `security.*`. */
  domains?: string[];
  transport: string;
  /** Where it is called. */
  url?: string;
  versions?: string[];
  publicKey?: string;
  /** Of any form: Parley encrypts nothing. */
  encryptionKey?: string;
  signing?: 'off' | 'warn' | 'enforce';
  limits?: JsonObject;
  manifest?: JsonObject;
  /** What it says of itself to those who look for agents. */
  agentCard?: AgentCardFields;
  role?: string;
  /** Absent: as in its dialect. */
  inbox?: InboxMode;
  inboxLimit?: number;
  overflow?: 'evict' | 'refuse';
  /** Absent: `public` only. */
  channels?: string[];
  /** Only a `ui_worker` executes user interface actions. */
  workerTarget?: string;
  registeredAt: number;
  /** Written with each new key, so that none outlives a removal. */
  keysChangedAt?: number;
}

/**
 * All that is sent to the agent; or only what is for nobody else: how its tasks end, questions, and direct messages; or that and
 * progress, which some protocols send as a message.
 */
export const INBOX_MODES = ['all', 'progress', 'ends'] as const;
export type InboxMode = (typeof INBOX_MODES)[number];

export interface AgentCardFields {
  name?: string | undefined;
  description?: string | undefined;
  version?: string | undefined;
  documentationUrl?: string | undefined;
  iconUrl?: string | undefined;
  provider?: { organization: string; url: string } | undefined;
  inputModes?: string[] | undefined;
  outputModes?: string[] | undefined;
  /** By capability. */
  skills?: Record<string, SkillFields> | undefined;
}

export interface SkillFields {
  name?: string | undefined;
  description?: string | undefined;
  tags?: string[] | undefined;
  examples?: string[] | undefined;
  inputModes?: string[] | undefined;
  outputModes?: string[] | undefined;
}

export interface CapabilitySchemas {
  input?: JsonObject;
  output?: JsonObject;
}

/** A separate record, because it changes often. */
export interface AgentHealth extends Item {
  sk: 'health';
  project: string;
  agent: string;
  online: boolean;
  /** Absent until the first heartbeat. */
  sentAt?: number;
  lastHeartbeat?: { id: string; fingerprint: string; at?: number };
  lastSeen?: number;
  status?: string;
  capabilities?: string[];
  uptime?: number;
  activeTaskCount?: number;
  model?: string;
  version?: string;
  /** 0 to 1. */
  cpuUsage?: number;
  memoryMb?: number;
  /** Allowed silence of its dialect, if it differs from the configuration. */
  silentMs?: number;
  instance?: string;
  statusReport?: StatusReport & { at: number };
  pause?: AgentPause;
  /** Deadline of a pending health check. */
  checkBy?: number;
}

export interface StatusReport {
  status: string;
  /** 0 to 1. */
  progress?: number;
  message?: string;
  confidence?: number;
  blockers?: string[];
}

export const isAgentHealth = (item: Item): item is AgentHealth => item.sk === 'health';

/** Stays as long as messages to the removed agent do, so that a new agent of the same name cannot read them. */
export interface RemovedAgent extends Item {
  sk: 'agent-tombstone';
  removedAt: number;
}

export const removedRef = (project: string, id: string): Ref<RemovedAgent> => ({
  pk: agentPk(project, id),
  sk: 'agent-tombstone',
});

/** With which the agent signs, where that is no pair of keys. Apart from the agent, so that nothing that shows an agent shows it. */
export interface AgentSecret extends Item {
  sk: 'agent-secret';
  secret: string;
}

export const isAgentSecret = (item: Item): item is AgentSecret => item.sk === 'agent-secret';

export const agentSecretRef = (project: string, id: string): Ref<AgentSecret> => ({
  pk: agentPk(project, id),
  sk: 'agent-secret',
});

export const agentPk = (project: string, id: string): string => `${project}#agent#${id}`;
export const agentRef = (project: string, id: string): Ref<Agent> => ({ pk: agentPk(project, id), sk: 'agent' });
export const healthRef = (project: string, id: string): Ref<AgentHealth> => ({
  pk: agentPk(project, id),
  sk: 'health',
});
export const agentsKey = (project: string): string => `${project}#agents`;

export interface RegisteredAgent {
  agent: Agent;
  health?: AgentHealth;
  /** Absent where nobody asks for them. */
  keys?: readonly ApiKey[];
  /** Never shown, logged or sent. */
  hmacSecret?: string;
}

/** Set by an administrator; heartbeats do not change it. */
export type DeclaredCapabilities = Pick<Agent, 'capabilities' | 'domains' | 'profile'>;

export const buildDomainWildcard = (domain: string): string => `${domain}.*`;

export const listWholeDomains = ({ capabilities, domains = [] }: DeclaredCapabilities): string[] => {
  if (!capabilities.some(isDomainWildcard)) return domains;
  return [...new Set([...domains, ...capabilities.filter(isDomainWildcard).map((star) => star.slice(0, -2))])];
};

const isDomainWildcard = (capability: string): boolean =>
  capability.endsWith('.*') && getDomain(capability)?.length === capability.length - 2;

export const listExactCapabilities = (declared: DeclaredCapabilities): string[] => {
  const whole = listWholeDomains(declared);
  const exact = declared.capabilities.filter((capability) => {
    const domain = getDomain(capability);
    return domain !== undefined && !whole.includes(domain);
  });
  return [...new Set(exact)];
};

export const listDeclaredDomains = (declared: DeclaredCapabilities): string[] => [
  ...new Set([
    ...listWholeDomains(declared),
    ...listExactCapabilities(declared).flatMap((capability) => getDomain(capability) ?? []),
  ]),
];

export const listServedDomains = ({ agent }: RegisteredAgent): string[] => listDeclaredDomains(agent);

export const canServe = ({ agent }: RegisteredAgent, work: { domain?: unknown; capability?: unknown }): boolean =>
  listWholeDomains(agent).some((domain) => domain === work.domain) ||
  agent.capabilities.some((capability) => capability === work.capability);

export const listUnscopedCapabilities = (capabilities: readonly string[]): string[] => [
  ...new Set(capabilities.filter((capability) => getDomain(capability) === undefined)),
];
