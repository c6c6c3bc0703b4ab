import type { Deps } from '../../identity/deps.ts';
import { isPermanent } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import { computeFingerprint } from '../../kernel/json/fingerprint.ts';
import { DAY_MS } from '../../kernel/retention.ts';
import { parseTrace } from '../../kernel/trace.ts';
import { scheduleRef, type TaskSchedule } from '../../model/schedule.ts';
import { type Change, equals } from '../../ports/conditions.ts';
import { createTask } from '../../tasks/commands/create-task.ts';
import { findNextRun, parseCron } from './cron.ts';

/** A later run was missed: timers are seconds late at most. */
const MISSED_MS = 60_000;
/** Of what was missed longer ago, nothing is made up for. */
const MAX_MISSED_MS = 7 * DAY_MS;

/** The id of the task follows from the time of its run, so that a repetition makes no second one. */
export const onScheduleTimer = async (deps: Deps, schedule: TaskSchedule): Promise<void> => {
  const { project, id, nextRunAt: runAt, missed } = schedule;
  if (runAt === undefined) return;
  const now = deps.clock.now();
  const cron = parseCron(schedule.cron);
  const isMissed = now - runAt > MISSED_MS;
  const isSkipped = isMissed && (missed === 'skip' || now - runAt > MAX_MISSED_MS);
  const next = findNextRun(
    cron,
    isMissed && missed === 'all' ? Math.max(runAt, now - MAX_MISSED_MS) : Math.max(runAt, now),
  );
  const run = isSkipped ? { add: { skippedCount: 1 } } : await runOnce(deps, schedule, runAt);
  const due = next === undefined ? undefined : Math.max(next, (schedule.due ?? 0) + 1);
  await deps.records.update(
    scheduleRef(project, id),
    {
      ...run,
      // If it was changed meanwhile, the timer fires again, and the same run makes the same task.
      if: equals('v', schedule.v),
      set: { ...run.set, nextRunAt: next, due },
      unset: [...(run.unset ?? []), ...(next === undefined ? ['nextRunAt', 'due'] : [])],
    },
    deps.newId(),
  );
};

/** A run that cannot make its task is not tried again. */
const runOnce = async (deps: Deps, schedule: TaskSchedule, runAt: number): Promise<Change> => {
  const taskId = uuidFromSeed(['schedule', schedule.id, schedule.createdAt, runAt]);
  try {
    await requestScheduledTask(deps, schedule, taskId);
    return { add: { runCount: 1 }, set: { lastRunAt: runAt, lastTaskId: taskId }, unset: ['lastError'] };
  } catch (error) {
    if (!isPermanent(error)) throw error;
    return { add: { runCount: 1 }, set: { lastRunAt: runAt, lastError: { code: error.code, message: error.message } } };
  }
};

export const requestScheduledTask = async (
  deps: Deps,
  { project, dialect, command }: TaskSchedule,
  taskId: string,
): Promise<void> => {
  const request = { ...command, taskId, messageId: taskId, fingerprint: computeFingerprint([command, taskId]) };
  await createTask(deps, { project, role: 'admin' }, dialect, request, parseTrace(undefined));
};
