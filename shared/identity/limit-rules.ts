import type { Config } from '../config/config.ts';
import type { Item, Ref } from '../ports/records.ts';
import type { Deps } from './deps.ts';

/** At most so many starts in any stretch of so many seconds. */
export interface StartRate {
  starts: number;
  seconds: number;
}

export interface LimitNumbers {
  /** How many tasks of the key run at once. */
  concurrency?: number | undefined;
  rate?: StartRate | undefined;
}

export interface TaskLimit extends LimitNumbers {
  key: string;
}

export interface LimitRule extends LimitNumbers {
  /** Absent for one of the configuration. */
  by?: string;
  since?: number;
}

export type LimitRules = Readonly<Record<string, LimitRule>>;

/** Of one project, by key: what operators set. Few, and read by every claim from the cache. */
export interface StoredLimitRules extends Item {
  sk: 'limit-rules';
  project: string;
  rules: LimitRules;
}

export const limitRulesRef = (project: string): Ref<StoredLimitRules> => ({
  pk: `${project}#limit-rules`,
  sk: 'limit-rules',
});

/** The same object wherever there is none, so that a claim knows it at once. */
export const NO_LIMIT_RULES: LimitRules = {};

/** A rule for one of these holds for tasks that do not name it. `requester:*` is one for each requester. */
const INHERITED_KINDS = ['requester', 'domain', 'capability'] as const;

export const isInheritedKey = (key: string): boolean => INHERITED_KINDS.some((kind) => key.startsWith(`${kind}:`));

/** What an operator sets replaces what the configuration says of a key. */
export const getLimitRules = (
  { config, directory }: Pick<Deps, 'config' | 'directory'>,
  project: string,
): Promise<LimitRules> => {
  const found = directory.getLimitRules(project);
  const configured = getConfiguredRules(config, project);
  // Without further promises: every call of a task cycle asks.
  if (configured === NO_LIMIT_RULES) return found;
  return found.then((stored) => (stored === NO_LIMIT_RULES ? configured : { ...configured, ...stored }));
};

export const getConfiguredRules = ({ projects }: Config, project: string): LimitRules => {
  const rules = projects[project]?.taskLimits ?? NO_LIMIT_RULES;
  for (const _ in rules) return rules;
  return NO_LIMIT_RULES;
};

interface LimitedTask {
  from: string;
  capability: string;
  domain?: string;
  limits?: readonly TaskLimit[];
}

/** Whether a task that names no limit may have one. */
export const hasInheritedRules = (rules: LimitRules): boolean =>
  rules !== NO_LIMIT_RULES && Object.keys(rules).some(isInheritedKey);

/** Of a task: what it names, with the numbers of its rule if there is one, and what it inherits. */
export const resolveLimits = (task: LimitedTask, rules: LimitRules): TaskLimit[] => {
  const { limits = [], from, domain, capability } = task;
  if (limits.length === 0 && rules === NO_LIMIT_RULES) return [];
  const named = limits.map(({ key, ...own }) => ({ key, ...(findRule(rules, key) ?? own) }));
  const inherited = [
    ['requester', from],
    ['domain', domain],
    ['capability', capability],
  ].flatMap(([kind, name]) => {
    const rule = name === undefined ? undefined : (findRule(rules, `${kind}:${name}`) ?? findRule(rules, `${kind}:*`));
    return rule ? [{ key: `${kind}:${name}`, ...rule }] : [];
  });
  return [...named, ...inherited].flatMap(({ key, concurrency, rate }) =>
    concurrency === undefined && rate === undefined ? [] : [{ key, concurrency, rate }],
  );
};

export const findRule = (rules: LimitRules, key: string): LimitRule | undefined =>
  Object.hasOwn(rules, key) ? rules[key] : undefined;
