import type { JsonObject } from '../kernel/json/json.ts';
import type { Item, Ref } from '../ports/records.ts';
import type { TaskRequestCommand } from './command.ts';

/** What happens to runs that fell into an outage: none of them, one for all, or each. */
export const MISSED_POLICIES = ['skip', 'once', 'all'] as const;
export type MissedPolicy = (typeof MISSED_POLICIES)[number];

export const SCHEDULE_STATUSES = ['active', 'paused'] as const;
export type ScheduleStatus = (typeof SCHEDULE_STATUSES)[number];

/** A request that is made again and again. `due` is the time of the next one. */
export interface TaskSchedule extends Item {
  sk: 'schedule';
  project: string;
  id: string;
  /** The requester of its tasks. */
  from: string;
  createdAt: number;
  cron: string;
  /** As the call had it, and what it means. Each run has an id of its own. */
  task: JsonObject;
  dialect: string;
  command: TaskRequestCommand;
  missed: MissedPolicy;
  status: ScheduleStatus;
  /** Absent while it is paused. */
  nextRunAt?: number;
  runCount: number;
  skippedCount: number;
  lastRunAt?: number;
  lastTaskId?: string;
  /** Of the last run, if it made no task. */
  lastError?: { code: string; message: string };
}

export const scheduleRef = (project: string, id: string): Ref<TaskSchedule> => ({
  pk: `${project}#schedule#${id}`,
  sk: 'schedule',
});
