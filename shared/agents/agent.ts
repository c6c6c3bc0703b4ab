import type { JsonObject } from '../json/json.ts';
import type { Item, Ref } from '../ports/records.ts';
import type { Rest } from './orders.ts';

/** Agent ids become parts of subjects, queue names and keys. */
export const AGENT_ID = /^[a-z0-9_-]{1,64}$/;

/** A registered agent. */
export interface Agent extends Item {
  sk: 'agent';
  project: string;
  id: string;
  dialect: string;
  capabilities: string[];
  /** The domains that it serves, where they do not follow from its capabilities. */
  domains?: string[];
  via: 'http' | 'nats';
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
export interface Health extends Item {
  sk: 'health';
  project: string;
  agent: string;
  online: boolean;
  /** Of the newest heartbeat; absent until the first one. */
  sentAt?: number;
  beat?: { id: string; fingerprint: string };
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
  /** What it said of itself last, beside its heartbeats. */
  saying?: Saying & { at: number };
  rest?: Rest;
  /** When it must have shown that it is well. */
  checkBy?: number;
}

/** What an agent says it is doing, where that is about no task. */
export interface Saying {
  status: string;
  /** 0 to 1. */
  progress?: number;
  message?: string;
  confidence?: number;
  blockers?: string[];
}

export const isHealth = (item: Item): item is Health => item.sk === 'health';

export const agentPk = (project: string, id: string): string => `${project}#agent#${id}`;
export const agentRef = (project: string, id: string): Ref<Agent> => ({ pk: agentPk(project, id), sk: 'agent' });
export const healthRef = (project: string, id: string): Ref<Health> => ({ pk: agentPk(project, id), sk: 'health' });
export const agentsPlace = (project: string): string => `${project}#agents`;

/** An agent with its health, as far as it is known. */
export interface Known {
  agent: Agent;
  health?: Health;
}

/** The domains whose queues the agent may claim from: those of its registration, which an administrator made. */
export const servedDomains = ({ agent }: Known): string[] =>
  agent.domains ?? [...new Set(agent.capabilities.map(domainOf).filter((domain) => domain !== undefined))];

/** Whether work of this kind, addressed to nobody, may be claimed by the agent. */
export const serves = (known: Known, work: { domain?: unknown; skill?: unknown }): boolean =>
  work.skill === undefined
    ? servedDomains(known).some((domain) => domain === work.domain)
    : known.agent.capabilities.some((capability) => capability === work.skill);

/** The capabilities that belong to no domain, each with a queue of its own. */
export const skillsAmong = (capabilities: readonly string[]): string[] => [
  ...new Set(capabilities.filter((capability) => domainOf(capability) === undefined)),
];

/** `security` of `security.briefing`; a capability without a dot belongs to no domain. */
export const domainOf = (capability: string): string | undefined => {
  const dot = capability.indexOf('.');
  return dot > 0 ? capability.slice(0, dot) : undefined;
};
