import type { Deps } from '../../identity/deps.ts';
import {
  findRule,
  getConfiguredRules,
  getLimitRules,
  type LimitRule,
  NO_LIMIT_RULES,
  resolveLimits,
} from '../../identity/limit-rules.ts';
import { mapConcurrent } from '../../kernel/concurrency.ts';
import { type Limit, type LimitBlock, limitedListKey, limitsListKey } from '../../model/limit.ts';
import { countPlaces, findNextStartAt } from '../../model/limit-places.ts';
import { type Task, taskRef } from '../../model/task.ts';
import { admit, loadCurrentKeys } from './admit.ts';

/** Beyond, a count is a lower bound. */
const MAX_WAITING = 100;
const MAX_RUNNING_SHOWN = 100;
const KEYS_AT_ONCE = 4;

export interface LimitState {
  key: string;
  /** Of an operator or the configuration. Otherwise each task says it. */
  rule: LimitRule | undefined;
  isConfigured: boolean;
  running: number;
  nextStartAt: number | undefined;
  waiting: { value: number; isExact: boolean };
  holders: Pick<Task, 'id' | 'holder' | 'claimedAt'>[];
}

export const getLimitState = async (deps: Deps, project: string, key: string): Promise<LimitState> => {
  const { records, clock, config } = deps;
  const rule = findRule(await getLimitRules(deps, project), key);
  const { places = [], starts } = (await loadCurrentKeys(records, project, [key])).get(key) ?? {};
  const unclaimed = await listUnclaimed(deps, project, key, MAX_WAITING + 1);
  const shown = places.slice(0, MAX_RUNNING_SHOWN).map(({ task }) => taskRef(project, task));
  return {
    key,
    rule,
    isConfigured: rule !== undefined && findRule(getConfiguredRules(config, project), key) === rule,
    running: countPlaces(places),
    nextStartAt: rule?.rate && findNextStartAt({ starts }, rule.rate, clock.now()),
    waiting: { value: Math.min(unclaimed.length, MAX_WAITING), isExact: unclaimed.length <= MAX_WAITING },
    holders: await records.getMany(shown),
  };
};

/** Keys that have rules, and keys that tasks used lately, by name. */
export const listLimitStates = async (
  deps: Deps,
  project: string,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<{ limits: LimitState[]; hasMore: boolean }> => {
  const rules = Object.keys(await getLimitRules(deps, project)).filter((key) => after === undefined || key > after);
  const used = await listUsedKeys(deps, project, { after, limit: limit + 1 });
  const keys = [...new Set([...rules, ...used])].toSorted((a, b) => (a < b ? -1 : 1));
  const limits = await mapConcurrent(keys.slice(0, limit), KEYS_AT_ONCE, (key) => getLimitState(deps, project, key));
  return { limits, hasMore: keys.length > limit };
};

const listUsedKeys = async (
  { records }: Deps,
  project: string,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<string[]> => {
  const found = await records.query<Limit>({ index: 'byList', pk: limitsListKey(project), after, limit });
  return found.map(({ key }) => key);
};

const listUnclaimed = ({ records }: Deps, project: string, key: string, limit: number): Promise<Task[]> =>
  records.query<Task>({ index: 'byHolder', pk: limitedListKey(project, key), limit });

const NO_BLOCKS: ReadonlyMap<string, LimitBlock> = new Map();

/** Why tasks that could be claimed are not, by id. */
export const findBlocks = async (
  deps: Deps,
  project: string,
  tasks: readonly Task[],
): Promise<ReadonlyMap<string, LimitBlock>> => {
  const { records, clock } = deps;
  const rules = await getLimitRules(deps, project);
  if (rules === NO_LIMIT_RULES && tasks.every(({ limits }) => limits === undefined)) return NO_BLOCKS;
  const limited = tasks
    .filter(({ status, notBefore }) => status === 'requested' && notBefore === undefined)
    .map((task) => ({ task, limits: resolveLimits(task, rules) }))
    .filter(({ limits }) => limits.length > 0);
  const blocks = new Map<string, LimitBlock>();
  if (limited.length === 0) return blocks;
  const keys = limited.flatMap(({ limits }) => limits.map(({ key }) => key));
  const pool = await loadCurrentKeys(records, project, keys);
  for (const { task, limits } of limited) {
    const { block } = await admit(records, task, limits, pool, clock.now());
    if (block) blocks.set(task.id, block);
  }
  return blocks;
};

const MAX_KEYS_LOOKED_AT = 25;

/** Tasks that no limit lets start, of the first keys by name, and of each as many as are counted. */
export const listBlockedTasks = async (deps: Deps, project: string): Promise<{ task: Task; block: LimitBlock }[]> => {
  const keys = await listUsedKeys(deps, project, { limit: MAX_KEYS_LOOKED_AT });
  const found = await mapConcurrent(keys, KEYS_AT_ONCE, async (key) => {
    const tasks = await listUnclaimed(deps, project, key, MAX_WAITING);
    const blocks = await findBlocks(deps, project, tasks);
    return tasks.flatMap((task) => {
      const block = blocks.get(task.id);
      return block ? [{ task, block }] : [];
    });
  });
  return found.flat();
};
