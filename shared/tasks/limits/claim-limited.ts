import type { Directory } from '../../identity/agents/directory.ts';
import type { Deps } from '../../identity/deps.ts';
import { getLimitRules, resolveLimits, type TaskLimit } from '../../identity/limit-rules.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { DAY_MS } from '../../kernel/retention.ts';
import { type Limit, type LimitBlock, limitRef, limitsListKey } from '../../model/limit.ts';
import { findNextStartAt } from '../../model/limit-places.ts';
import { type Task, taskRef } from '../../model/task.ts';
import { toIso } from '../../ports/clock.ts';
import { applyChange, type Change, equals, mergeChanges } from '../../ports/conditions.ts';
import type { TransactionWrite } from '../../ports/records.ts';
import type { UpdateResult } from '../../storage/update-with-retry.ts';
import { taskNotFoundError } from '../commands/update-task.ts';
import { isClaimOf } from '../transitions/holder-transitions.ts';
import { admit, type KeyState, loadKeys } from './admit.ts';
import { listUnderKey } from './start-waiting.ts';

type LimitedClaim =
  | UpdateResult<Task>
  /** `isListed`: it starts when there is a place, without another look at its queue message. */
  | { outcome: 'blocked'; block: LimitBlock; isListed: boolean };

/** Each loser reads again. Claims of one process wait for each other instead. */
const MAX_TRIES = 10;

/**
 * The claim, and a place of each of its keys, in one transaction. So a crash leaves both or none, and there is nothing to give
 * back: a place counts as long as its task has a holder.
 */
export const claimLimited = async (
  deps: Deps,
  project: string,
  id: string,
  decide: (task: Task) => Change | ParleyError | 'unchanged',
): Promise<LimitedClaim> => {
  const rules = await getLimitRules(deps, project);
  const first = await readTask(deps, project, id);
  const [{ key } = { key: '' }] = resolveLimits(first, rules);
  return await takeTurn(deps, `${project}/${key}`, async () => {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const task = tries === 0 ? first : await readTask(deps, project, id);
      const change = decide(task);
      if (change instanceof Error) throw change;
      if (change === 'unchanged') return { outcome: 'unchanged', record: task };
      const limits = isClaimOf(task, change) ? resolveLimits(task, rules) : [];
      const done = await (limits.length > 0 ? tryToClaim(deps, task, change, limits) : tryToUpdate(deps, task, change));
      if (done) return done;
    }
    throw new ParleyError('conflict', `Too many tasks with the limit ${key} start at once. Try again.`);
  });
};

const readTask = async ({ records }: Deps, project: string, id: string): Promise<Task> => {
  const task = await records.get(taskRef(project, id));
  if (!task) throw taskNotFoundError(id);
  return task;
};

const tryToUpdate = async (
  { records, newId }: Deps,
  { project, id }: Task,
  change: Change,
): Promise<LimitedClaim | undefined> => {
  const written = await records.update(taskRef(project, id), change, newId());
  return written.outcome === 'written' ? { ...written, outcome: 'changed' } : undefined;
};

/** Undefined if the task or one of the keys changed meanwhile. */
const tryToClaim = async (
  deps: Deps,
  task: Task,
  change: Change,
  limits: TaskLimit[],
): Promise<LimitedClaim | undefined> => {
  const { records, clock } = deps;
  const now = clock.now();
  const keys = limits.map(({ key }) => key);
  const pool = await loadKeys(records, task.project, keys);
  const admission = await admit(records, task, limits, pool, now);
  if (admission.block) {
    await ensureRateTimer(deps, pool.get(admission.block.key)?.limit, admission.block);
    // There may have been room since it was looked at, and nobody who saw the task.
    if (await listUnderKey(deps, task, admission.block.key)) return undefined;
    return { outcome: 'blocked', block: admission.block, isListed: isListedForSure(deps, task) };
  }
  const claim = mergeChanges(change, { set: { places: keys } });
  const writes: TransactionWrite[] = [
    { kind: 'update', key: taskRef(task.project, task.id), change: claim },
    ...admission.states.map((state, at) => buildLimitWrite(task.project, state, limits[at], now)),
  ];
  const token = deps.newId();
  const { outcome } = await records.transact(writes, token);
  if (outcome !== 'written') return undefined;
  const after: Task = { ...task, ...applyChange(task, claim), v: task.v + 1, token, at: now };
  for (const field of claim.unset ?? []) if (!field.includes('.')) Reflect.deleteProperty(after, field);
  return { outcome: 'changed', before: task, after };
};

/** Longer than any task runs without a start of another one of its key. */
const LIMIT_RETENTION_MS = 90 * DAY_MS;

const buildLimitWrite = (
  project: string,
  { key, limit, places, starts, windowMs }: KeyState,
  numbers: TaskLimit | undefined,
  now: number,
): TransactionWrite => {
  const next = numbers?.rate && findNextStartAt({ starts }, numbers.rate, now);
  const pending = limit?.due !== undefined && limit.due > now ? limit.due : undefined;
  const due = next === undefined ? undefined : Math.min(next, pending ?? next);
  const fields = { places, starts, windowMs, due, expires: now + LIMIT_RETENTION_MS };
  const ref = limitRef(project, key);
  if (limit) return { kind: 'update', key: ref, change: { if: equals('v', limit.v), set: fields } };
  const byList = { pk: limitsListKey(project), sk: key };
  return { kind: 'create', item: { ...ref, sk: 'limit', project, key, byList, ...fields } };
};

/** The timer is set by the start that uses up the rate. A lower rate may use it up without a start. */
const ensureRateTimer = async (
  { records, clock, newId }: Deps,
  limit: Limit | undefined,
  { nextStartAt }: LimitBlock,
): Promise<void> => {
  if (!limit || nextStartAt === undefined || (limit.due ?? 0) > clock.now()) return;
  const change = { if: equals('v', limit.v), set: { due: nextStartAt } };
  await records.update(limitRef(limit.project, limit.key), change, newId());
};

/** Then whoever makes room finds the task. Otherwise its index may be late, and the queue message stays. */
const isListedForSure = ({ records, clock }: Deps, { at }: Task): boolean =>
  clock.now() - at >= (records.indexLagMs ?? 0);

const turnsOf = new WeakMap<Directory, Map<string, Promise<unknown>>>();

/** Losing against another process costs a read; losing against this one would cost as many as there are claims. */
const takeTurn = async <T>({ directory }: Deps, key: string, act: () => Promise<T>): Promise<T> => {
  const turns = turnsOf.get(directory) ?? new Map<string, Promise<unknown>>();
  turnsOf.set(directory, turns);
  const before = turns.get(key);
  const own = (before ?? Promise.resolve()).catch(() => {}).then(act);
  turns.set(key, own);
  try {
    return await own;
  } finally {
    if (turns.get(key) === own) turns.delete(key);
  }
};

export const limitReachedError = (
  { id }: Pick<Task, 'id'>,
  { key, reason, concurrency, running, rate, nextStartAt }: LimitBlock,
  retryable = true,
): ParleyError => {
  const why =
    reason === 'concurrency'
      ? `${running} of at most ${concurrency} tasks run`
      : `${rate?.starts} tasks have started within ${rate?.seconds} s`;
  const until = nextStartAt === undefined ? '' : ` The next may start at ${toIso(nextStartAt)}.`;
  return new ParleyError('limit_reached', `The task ${id} waits for the limit ${key}: ${why}.${until}`, {
    details: { limit: key, reason },
    retryable,
  });
};
