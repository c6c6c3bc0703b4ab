import { type AdminCaller, describeCaller } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import { type LimitNumbers, limitRulesRef, type StoredLimitRules } from '../identity/limit-rules.ts';
import { ParleyError } from '../kernel/errors.ts';

/** One record holds them, and every claim reads it. */
const MAX_RULES = 200;

/** For tasks that start from now on, in other processes within 5 s. */
export const setLimit = async (
  deps: Deps,
  caller: AdminCaller,
  key: string,
  { concurrency, rate }: LimitNumbers,
): Promise<void> => {
  const { project } = caller;
  const ref = limitRulesRef(project);
  const known = await deps.records.get(ref);
  if (!known)
    await deps.records.create<StoredLimitRules>({ pk: ref.pk, sk: 'limit-rules', project, rules: {} }, deps.newId());
  const { rules = {} } = known ?? {};
  if (!Object.hasOwn(rules, key) && Object.keys(rules).length >= MAX_RULES) throw tooManyRulesError();
  const rule = {
    by: describeCaller(caller),
    since: deps.clock.now(),
    ...(concurrency !== undefined && { concurrency }),
    ...(rate && { rate }),
  };
  await deps.records.update(ref, { set: { [`rules.${key}`]: rule } }, deps.newId());
  deps.directory.invalidateLimitRules(project);
};

/** What the configuration or the tasks themselves say holds again. */
export const removeLimit = async (deps: Deps, { project }: AdminCaller, key: string): Promise<void> => {
  await deps.records.update(limitRulesRef(project), { unset: [`rules.${key}`] }, deps.newId());
  deps.directory.invalidateLimitRules(project);
};

const tooManyRulesError = (): ParleyError =>
  new ParleyError(
    'too_large',
    `A project has at most ${MAX_RULES} limits that operators set. Set one for each requester with requester:*.`,
    { details: { limit: MAX_RULES } },
  );
