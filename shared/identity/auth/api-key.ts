import type { Item, NewItem, Ref } from '../../ports/records.ts';
import { agentPk } from '../agents/agent.ts';
import { parseOperatorOwner, toOperatorOwner } from './keys.ts';
import { type PresentedKey, rememberValidKey } from './presented-key.ts';
import type { KeyScope } from './scopes.ts';

/** By name, in the partition of its agent or of the project. `expires` ends it. */
export interface ApiKey extends Item {
  sk: `key#${string}`;
  project: string;
  name: string;
  /** Absent for the keys of operators and relays. */
  agent?: string;
  scope: KeyScope | 'relay';
  keyHash: string;
  /** The keys before the last rotations that are still valid. */
  previous?: PreviousKey[];
  /** Absent for the keys that are set where Parley is started. */
  createdAt?: number;
  rotatedAt?: number;
  /** Written at most once in `KEY_USE_INTERVAL_MS`. */
  lastUsedAt?: number;
}

interface PreviousKey {
  keyHash: string;
  until: number;
}

/** They are read with every call whose agent is not cached. */
export const MAX_KEYS_PER_AGENT = 10;

/** What an agent is given when it is registered. */
export const DEFAULT_KEY = 'default';
/** Set where Parley is started. */
export const ADMIN_KEY = 'admin';
export const RELAY_KEY = 'relay';

export const API_KEY_PREFIX = 'key#';
export const isApiKey = (item: Item): item is ApiKey => item.sk.startsWith(API_KEY_PREFIX);

type NewApiKey = Pick<ApiKey, 'project' | 'name' | 'agent' | 'scope' | 'keyHash' | 'createdAt' | 'expires'>;

export const buildApiKey = ({ expires, ...key }: NewApiKey): NewItem<ApiKey> => ({
  ...apiKeyRef(key.project, key.agent, key.name),
  sk: `${API_KEY_PREFIX}${key.name}`,
  ...key,
  ...(expires !== undefined && { expires }),
});

export const operatorKeysPk = (project: string): string => `${project}#keys`;

export const apiKeyRef = (project: string, agent: string | undefined, name: string): Ref<ApiKey> => ({
  pk: agent === undefined ? operatorKeysPk(project) : agentPk(project, agent),
  sk: `${API_KEY_PREFIX}${name}`,
});

/** What a key says of itself, before its secret. */
export const getKeyOwner = ({ agent, name }: Pick<ApiKey, 'agent' | 'name'>): string => agent ?? toOperatorOwner(name);

export const operatorKeyRef = (project: string, owner: string): Ref<ApiKey> | undefined => {
  const name = parseOperatorOwner(owner);
  return name === undefined ? undefined : apiKeyRef(project, undefined, name);
};

/** In epoch milliseconds; 0 for a key that is not valid. */
export const computeKeyEnd = (keys: readonly ApiKey[], keyHash: string): number => {
  for (const { keyHash: current, previous, expires = Number.POSITIVE_INFINITY } of keys) {
    if (current === keyHash) return expires;
    const earlier = previous?.find((one) => one.keyHash === keyHash);
    if (earlier) return Math.min(earlier.until, expires);
  }
  return 0;
};

export const findValidKey = (presented: PresentedKey, keys: readonly ApiKey[], now: number): ApiKey | undefined => {
  const { keyHash } = presented;
  const found = keys.find((key) => computeKeyEnd([key], keyHash) > now);
  if (found) rememberValidKey(presented);
  return found;
};
