import type { Clock } from '../../ports/clock.ts';
import type { Item, Records, Ref } from '../../ports/records.ts';
import { type ApiKey, isApiKey, MAX_KEYS_PER_AGENT, operatorKeyRef } from '../auth/api-key.ts';
import { type CachedKeys, KeyWatchers } from '../auth/key-watchers.ts';
import { type LimitRules, limitRulesRef, NO_LIMIT_RULES } from '../limit-rules.ts';
import { NO_PAUSED_QUEUES, type PausedQueues, queuePausesRef } from '../queue-pauses.ts';
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
/** Wrong keys of one owner cost no more reads than these while its entry lasts. */
const MAX_REREADS = 10;
/** The agent, its health, its secret, its tombstone, and its keys. */
const MAX_AGENT_RECORDS = 4 + MAX_KEYS_PER_AGENT;

/** Caches what exists; absent owners are read every time. */
export interface Directory {
  getAgent(project: string, id: string): Promise<RegisteredAgent | undefined>;
  /** The keys of an agent, or that of `@<name>`. */
  listKeys(project: string, owner: string): Promise<readonly ApiKey[]>;
  /** Call it after a change, so that this process sees the change at once. */
  invalidate(project: string, owner: string): void;
  /** Where a key may be newer than what is cached: invalidates that, a few times each 5 s. */
  invalidateIfCached(project: string, owner: string): boolean;
  /** Call it after a change of keys. Ends waits with those that are no longer valid at once, and with others when they end. */
  revokeKeys(project: string, owner: string, ended: 'all' | readonly string[]): void;
  /** Calls `ended` as soon as this process can know. Returns an unwatch function. */
  watchKey(project: string, owner: string, keyHash: string, ended: () => void): () => void;
  getDomainProviders(project: string, domain: string): Promise<DomainProviders | undefined>;
  invalidateDomain(project: string, domain: string): void;
  getPausedQueues(project: string): Promise<PausedQueues>;
  invalidatePausedQueues(project: string): void;
  getLimitRules(project: string): Promise<LimitRules>;
  invalidateLimitRules(project: string): void;
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
  const agents = createTtlCache<RegisteredAgent | undefined>(clock);
  const operatorKeys = createTtlCache<ApiKey | undefined>(clock);
  const tools = createTtlCache<Tool | undefined>(clock);
  const pauses = createTtlCache<PausedQueues>(clock);
  const limitRules = createTtlCache<LimitRules>(clock);
  const keys = new KeyWatchers(clock);
  const getAgent: Directory['getAgent'] = (project, id) =>
    agents.get(agentPk(project, id), () => loadAgent(records, project, id));
  const getOperatorKey = (ref: Ref<ApiKey>): Promise<ApiKey | undefined> =>
    operatorKeys.get(`${ref.pk} ${ref.sk}`, () => records.get(ref));
  const listKeys: Directory['listKeys'] = async (project, owner) => {
    const ref = operatorKeyRef(project, owner);
    if (!ref) return (await getAgent(project, owner))?.keys ?? [];
    const key = await getOperatorKey(ref);
    return key ? [key] : [];
  };
  const findCache = (project: string, owner: string): { cache: TtlCache<unknown>; entry: string } => {
    const ref = operatorKeyRef(project, owner);
    return ref
      ? { cache: operatorKeys, entry: `${ref.pk} ${ref.sk}` }
      : { cache: agents, entry: agentPk(project, owner) };
  };
  const invalidate: Directory['invalidate'] = (project, owner) => {
    const { cache, entry } = findCache(project, owner);
    cache.delete(entry);
  };
  const loadKeys = async (project: string, owner: string): Promise<CachedKeys> => {
    const found = await listKeys(project, owner);
    const { cache, entry } = findCache(project, owner);
    return { keys: found, until: isSingleProcess ? Number.POSITIVE_INFINITY : cache.until(entry) };
  };
  const domains = createTtlCache<DomainProviders | undefined>(clock);
  return {
    getAgent,
    listKeys,
    invalidate,
    invalidateIfCached: (project, owner) => {
      const { cache, entry } = findCache(project, owner);
      return cache.deleteForReread(entry);
    },
    revokeKeys: (project, owner, ended) => {
      invalidate(project, owner);
      keys.end(`${project}/${owner}`, ended);
    },
    watchKey: (project, owner, keyHash, ended) =>
      keys.watch(`${project}/${owner}`, { keyHash, onEnd: ended }, () => loadKeys(project, owner)),
    getDomainProviders: (project, domain) => {
      const ref = domainProvidersRef(project, domain);
      return domains.get(ref.pk, () => records.get(ref));
    },
    invalidateDomain: (project, domain) => domains.delete(domainProvidersRef(project, domain).pk),
    getPausedQueues: (project) => pauses.get(project, () => loadPausedQueues(records, project)),
    invalidatePausedQueues: (project) => pauses.delete(project),
    getLimitRules: (project) => limitRules.get(project, () => loadLimitRules(records, project)),
    invalidateLimitRules: (project) => limitRules.delete(project),
    getTool: (project, name) => {
      const ref = toolRef(project, name);
      return tools.get(ref.pk, () => records.get(ref));
    },
    invalidateTool: (project, name) => tools.delete(toolRef(project, name).pk),
  };
};

const loadAgent = async (records: Records, project: string, id: string): Promise<RegisteredAgent | undefined> => {
  const items = await records.query<Agent | AgentHealth | AgentSecret | ApiKey>({
    pk: agentPk(project, id),
    limit: MAX_AGENT_RECORDS,
  });
  const agent = items.find(isAgentRecord);
  const health = items.find(isAgentHealth);
  const hmacSecret = items.find(isAgentSecret)?.secret;
  return agent && { agent, health, keys: items.filter(isApiKey), ...(hmacSecret !== undefined && { hmacSecret }) };
};

const loadPausedQueues = async (records: Records, project: string): Promise<PausedQueues> => {
  const { paused = NO_PAUSED_QUEUES } = (await records.get(queuePausesRef(project))) ?? {};
  return Object.keys(paused).length > 0 ? paused : NO_PAUSED_QUEUES;
};

const loadLimitRules = async (records: Records, project: string): Promise<LimitRules> => {
  const { rules = NO_LIMIT_RULES } = (await records.get(limitRulesRef(project))) ?? {};
  return Object.keys(rules).length > 0 ? rules : NO_LIMIT_RULES;
};

const isAgentRecord = (item: Item): item is Agent => item.sk === 'agent';

interface TtlCache<T> {
  delete(key: string): void;
  deleteForReread(key: string): boolean;
  until(key: string): number;
  get(key: string, find: () => Promise<T>): Promise<T>;
}

const createTtlCache = <T>(clock: Clock): TtlCache<T> => {
  const entries = new Map<string, { found: Promise<T>; value: T; until: number }>();
  const rereads = new Map<string, { count: number; until: number }>();
  /** Concurrent lookups share one read. */
  const looks = new Map<string, Promise<T>>();
  const storeEntry = (key: string, found: Promise<T>, value: T): void => {
    const [oldest] = entries.keys();
    if (oldest !== undefined && entries.size >= MAX_ENTRIES) entries.delete(oldest);
    entries.set(key, { found, value, until: clock.now() + CACHE_TTL_MS });
  };
  const loadEntry = (key: string, find: () => Promise<T>): Promise<T> => {
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
    delete: (key) => {
      entries.delete(key);
      looks.delete(key);
    },
    deleteForReread: (key) => {
      if (!entries.has(key)) return false;
      const now = clock.now();
      const known = rereads.get(key);
      const recent = known && known.until > now ? known : { count: 0, until: now + CACHE_TTL_MS };
      if (recent.count >= MAX_REREADS) return false;
      if (rereads.size >= MAX_ENTRIES) rereads.clear();
      rereads.set(key, { ...recent, count: recent.count + 1 });
      entries.delete(key);
      return true;
    },
    until: (key) => entries.get(key)?.until ?? clock.now() + CACHE_TTL_MS,
    get: (key, find) => {
      const entry = entries.get(key);
      return entry && entry.until > clock.now() ? entry.found : (looks.get(key) ?? loadEntry(key, find));
    },
  };
};
