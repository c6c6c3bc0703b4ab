import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { type ScheduleStatus, scheduleRef, type TaskSchedule } from '../../model/schedule.ts';
import { type Task, taskRef } from '../../model/task.ts';
import { and, type Change, equals, equalsAny } from '../../ports/conditions.ts';
import type { ListedFields, ListQuery } from '../../ports/lists.ts';
import { updateWithRetry } from '../../storage/update-with-retry.ts';
import { assertDestination } from './assert-destination.ts';
import { findNextRun, parseCron } from './cron.ts';
import { requestScheduledTask } from './run-schedule.ts';

type WantedSchedule = Pick<TaskSchedule, 'id' | 'from' | 'cron' | 'task' | 'dialect' | 'command' | 'missed' | 'status'>;

/** Creates it, or replaces one of the same requester. */
export const putSchedule = async (
  deps: Deps,
  caller: Caller,
  wanted: WantedSchedule,
): Promise<{ isNew: boolean; schedule: TaskSchedule }> => {
  const { project } = caller;
  const ref = scheduleRef(project, wanted.id);
  const now = deps.clock.now();
  const next = computeNextRun(wanted.cron, now);
  await assertDestination(deps, project, wanted.command);
  const isActive = wanted.status === 'active';
  const when = isActive ? { nextRunAt: next, due: next } : {};
  const fresh = {
    ...ref,
    sk: 'schedule' as const,
    project,
    ...wanted,
    ...when,
    createdAt: now,
    runCount: 0,
    skippedCount: 0,
  };
  const created = await deps.records.create<TaskSchedule>(fresh, deps.newId());
  if (created.outcome === 'written') return { isNew: true, schedule: created.after };
  const { cron, task, dialect, command, missed, status } = wanted;
  const set = { cron, task, dialect, command, missed, status, ...when };
  const schedule = await changeSchedule(deps, caller, wanted.id, (old) => {
    if (old.from !== wanted.from) throw new ParleyError('id_reused', `The schedule ${old.id} is one of ${old.from}.`);
    return { set, unset: isActive ? ['lastError'] : ['nextRunAt', 'due'] };
  });
  return { isNew: false, schedule };
};

export const pauseSchedule = (deps: Deps, caller: Caller, id: string): Promise<TaskSchedule> =>
  changeSchedule(deps, caller, id, ({ status }) =>
    status === 'paused' ? 'unchanged' : { set: { status: 'paused' }, unset: ['nextRunAt', 'due'] },
  );

/** Runs of the pause are not made up for. */
export const resumeSchedule = (deps: Deps, caller: Caller, id: string): Promise<TaskSchedule> =>
  changeSchedule(deps, caller, id, ({ status, cron }) => {
    const next = computeNextRun(cron, deps.clock.now());
    return status === 'active' ? 'unchanged' : { set: { status: 'active', nextRunAt: next, due: next } };
  });

/** A task beside those of its times. */
export const runScheduleNow = async (deps: Deps, caller: Caller, id: string, runId: string): Promise<Task> => {
  const schedule = await getSchedule(deps, caller, id);
  const taskId = uuidFromSeed(['schedule run', id, runId]);
  await requestScheduledTask(deps, schedule, taskId);
  const task = await deps.records.get(taskRef(caller.project, taskId));
  if (!task) throw new ParleyError('conflict', `The task ${taskId} is no longer kept. Try again.`);
  return task;
};

/** Its tasks stay. */
export const removeSchedule = async (deps: Deps, caller: Caller, id: string): Promise<void> => {
  const expires = deps.clock.now();
  await changeSchedule(deps, caller, id, () => ({ set: { expires, status: 'paused' }, unset: ['nextRunAt', 'due'] }));
};

const changeSchedule = async (
  deps: Deps,
  caller: Caller,
  id: string,
  decide: (schedule: TaskSchedule) => Change | 'unchanged',
): Promise<TaskSchedule> => {
  const ref = scheduleRef(caller.project, id);
  const done = await updateWithRetry(deps.records, ref, deps.newId(), undefined, (schedule) => {
    if (!schedule || !isOwn(caller, schedule)) throw scheduleNotFoundError(id);
    const change = decide(schedule);
    return change === 'unchanged' ? change : { ...change, if: equals('v', schedule.v) };
  });
  return done.outcome === 'changed' ? done.after : done.record;
};

export const getSchedule = async (deps: Deps, caller: Caller, id: string): Promise<TaskSchedule> => {
  const schedule = await deps.records.get(scheduleRef(caller.project, id));
  if (schedule && isOwn(caller, schedule)) return schedule;
  throw scheduleNotFoundError(id);
};

const isOwn = (caller: Caller, { from }: TaskSchedule): boolean =>
  caller.role === 'admin' || caller.registered.agent.id === from;

const scheduleNotFoundError = (id: string): ParleyError => new ParleyError('not_found', `There is no schedule ${id}.`);

const computeNextRun = (text: string, now: number): number => {
  const next = findNextRun(parseCron(text), now);
  if (next !== undefined) return next;
  throw new ParleyError('invalid_request', `The cron expression "${text}" names a day that does not exist.`);
};

export const toListedSchedule = ({ createdAt, status, from, command }: TaskSchedule): ListedFields => ({
  createdAt,
  status,
  requester: from,
  type: command.capability,
});

interface ScheduleFilter {
  status?: readonly ScheduleStatus[] | undefined;
  requester?: string | undefined;
}

/** Agents see their own. */
export const buildScheduleQuery = (caller: Caller, { status, requester }: ScheduleFilter): ListQuery<TaskSchedule> => {
  const where = and(
    ...(status ? [equalsAny('status', ...status)] : []),
    ...(requester === undefined ? [] : [equals('requester', requester)]),
    ...(caller.role === 'agent' ? [equals('requester', caller.registered.agent.id)] : []),
  );
  return { project: caller.project, kind: 'schedule', toFields: toListedSchedule, where };
};
