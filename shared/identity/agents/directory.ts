import type { Clock } from '../../ports/clock.ts';
import type { Item, Records } from '../../ports/records.ts';
import { type CachedKey, KeyWatchers } from '../auth/key-watchers.ts';
import { parseSystemRole, type SystemRole, type SystemRoleKey, systemRoleKeyRef } from '../auth/keys.ts';
import { type Tool, toolRef } from '../tools/tool.ts';
import {
  type Agent,
  type AgentHealth,
  type AgentSecret,
  agentPk,
  isAgentHealth,
  isAgentSecret,
  type RegisteredAgent,
} from './agent.ts';
import { type DomainProviders, domainProvidersRef } from './domain-providers.ts';

/** A key revoked in another process works at most this long. */
const CACHE_TTL_MS = 5000;
const MAX_ENTRIES = 10_000;

/** Caches what exists; absent owners are read every time. */
export interface Directory {
  getAgent(project: string, id: string): Promise<RegisteredAgent | undefined>;
  getSystemRoleKey(project: string, getSystemRoleKey: SystemRole): Promise<SystemRoleKey | undefined>;
  /** Call it after a change, so that this process sees the change at once. */
  invalidate(project: string, owner: string): void;
  /** Call it after a removal or a new key: also ends waits with the old key. */
  revokeKey(project: string, owner: string): void;
  /** Calls `ended` as soon as this process can know. Returns an unwatch function. */
  watchKey(project: string, owner: string, keyHash: string, ended: () => void): () => void;
  getDomainProviders(project: string, domain: string): Promise<DomainProviders | undefined>;
  invalidateDomain(project: string, domain: string): void;
  getTool(project: string, name: string): Promise<Tool | undefined>;
  invalidateTool(project: string, name: string): void;
}

interface DirectoryOptions {
  /** Then keys end only in this process. */
  isSingleProcess?: boolean;
}

export const createDirectory = (
  records: Records,
  clock: Clock,
  { isSingleProcess = false }: DirectoryOptions = {},
): Directory => {
  const agents = createTtlCache<RegisteredAgent>(clock);
  const offices = createTtlCache<SystemRoleKey>(clock);
  const tools = createTtlCache<Tool>(clock);
  const keys = new KeyWatchers(clock);
  const getAgent: Directory['getAgent'] = (project, id) =>
    agents.get(agentPk(project, id), () => loadAgent(records, project, id));
  const getSystemRoleKey: Directory['getSystemRoleKey'] = (project, name) => {
    const ref = systemRoleKeyRef(project, name);
    return offices.get(ref.pk, () => records.get(ref));
  };
  const invalidate: Directory['invalidate'] = (project, owner) => {
    const name = parseSystemRole(owner);
    if (name) offices.delete(systemRoleKeyRef(project, name).pk);
    else agents.delete(agentPk(project, owner));
  };
  const getCachedKey = async (project: string, owner: string): Promise<CachedKey> => {
    const name = parseSystemRole(owner);
    if (name)
      return {
        keyHash: (await getSystemRoleKey(project, name))?.keyHash,
        until: offices.until(systemRoleKeyRef(project, name).pk),
      };
    return { keyHash: (await getAgent(project, owner))?.agent.keyHash, until: agents.until(agentPk(project, owner)) };
  };
  const peekKey = (project: string, owner: string): string | undefined => {
    const name = parseSystemRole(owner);
    return name
      ? offices.peek(systemRoleKeyRef(project, name).pk)?.keyHash
      : agents.peek(agentPk(project, owner))?.agent.keyHash;
  };
  const domains = createTtlCache<DomainProviders>(clock);
  return {
    getAgent,
    getSystemRoleKey,
    invalidate,
    revokeKey: (project, owner) => {
      invalidate(project, owner);
      keys.endExcept(`${project}/${owner}`);
    },
    watchKey: (project, owner, keyHash, ended) => {
      const look = (): Promise<CachedKey> => getCachedKey(project, owner);
      const giveUp = keys.watch(`${project}/${owner}`, keyHash, ended, isSingleProcess ? undefined : look);
      // The key may have ended between authentication and watch: then it was also invalidated.
      if (isSingleProcess && peekKey(project, owner) !== keyHash)
        look()
          .then((key) => key.keyHash !== keyHash && ended())
          .catch(() => {});
      return giveUp;
    },
    getDomainProviders: (project, domain) => {
      const ref = domainProvidersRef(project, domain);
      return domains.get(ref.pk, () => records.get(ref));
    },
    invalidateDomain: (project, domain) => domains.delete(domainProvidersRef(project, domain).pk),
    getTool: (project, name) => {
      const ref = toolRef(project, name);
      return tools.get(ref.pk, () => records.get(ref));
    },
    invalidateTool: (project, name) => tools.delete(toolRef(project, name).pk),
  };
};

const loadAgent = async (records: Records, project: string, id: string): Promise<RegisteredAgent | undefined> => {
  const items = await records.query<Agent | AgentHealth | AgentSecret>({ pk: agentPk(project, id), limit: 10 });
  const agent = items.find(isAgentRecord);
  const health = items.find(isAgentHealth);
  const hmacSecret = items.find(isAgentSecret)?.secret;
  return agent && { agent, health, ...(hmacSecret !== undefined && { hmacSecret }) };
};

const isAgentRecord = (item: Item): item is Agent => item.sk === 'agent';

const createTtlCache = <T>(clock: Clock) => {
  const entries = new Map<string, { found: Promise<T | undefined>; value: T; until: number }>();
  /** Concurrent lookups share one read. */
  const looks = new Map<string, Promise<T | undefined>>();
  const storeEntry = (key: string, found: Promise<T | undefined>, value: T): void => {
    const [oldest] = entries.keys();
    if (oldest !== undefined && entries.size >= MAX_ENTRIES) entries.delete(oldest);
    entries.set(key, { found, value, until: clock.now() + CACHE_TTL_MS });
  };
  const loadEntry = (key: string, find: () => Promise<T | undefined>): Promise<T | undefined> => {
    entries.delete(key);
    const found = find();
    looks.set(key, found);
    const isCurrentLoad = (): boolean => looks.get(key) === found && looks.delete(key);
    // A lookup that was invalidated meanwhile may be stale.
    found.then(
      (value) => isCurrentLoad() && value !== undefined && storeEntry(key, found, value),
      () => isCurrentLoad(),
    );
    return found;
  };
  return {
    delete: (key: string) => {
      entries.delete(key);
      looks.delete(key);
    },
    /** Only what is known without a read. */
    peek: (key: string): T | undefined => {
      const entry = entries.get(key);
      return entry && entry.until > clock.now() ? entry.value : undefined;
    },
    until: (key: string): number => entries.get(key)?.until ?? clock.now() + CACHE_TTL_MS,
    get: (key: string, find: () => Promise<T | undefined>): Promise<T | undefined> => {
      const entry = entries.get(key);
      return entry && entry.until > clock.now() ? entry.found : (looks.get(key) ?? loadEntry(key, find));
    },
  };
};
