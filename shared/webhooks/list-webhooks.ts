import type { Directory } from '../identity/agents/directory.ts';
import type { Deps } from '../identity/deps.ts';
import { type Webhook, webhooksKey } from '../model/webhook.ts';

/** Each event of a project is held against all of them. */
export const MAX_WEBHOOKS = 100;
/** Another process learns of a new one within this. */
const CACHE_MS = 5000;

interface CachedWebhooks {
  until: number;
  found: Promise<Webhook[]>;
}

/** The directory is one in a process. */
const caches = new WeakMap<Directory, Map<string, CachedWebhooks>>();

const getCache = ({ directory }: Pick<Deps, 'directory'>): Map<string, CachedWebhooks> => {
  const cache = caches.get(directory) ?? new Map<string, CachedWebhooks>();
  caches.set(directory, cache);
  return cache;
};

export const loadWebhooks = ({ records }: Pick<Deps, 'records'>, project: string): Promise<Webhook[]> =>
  records.query<Webhook>({ index: 'byList', pk: webhooksKey(project), limit: MAX_WEBHOOKS });

export const listKnownWebhooks = (deps: Deps, project: string): Promise<Webhook[]> => {
  const cache = getCache(deps);
  const known = cache.get(project);
  const now = deps.clock.now();
  if (known && known.until > now) return known.found;
  const found = loadWebhooks(deps, project);
  cache.set(project, { until: now + CACHE_MS, found });
  found.catch(() => cache.delete(project));
  return found;
};

export const forgetWebhooks = (deps: Pick<Deps, 'directory'>, project: string): void => {
  getCache(deps).delete(project);
};
