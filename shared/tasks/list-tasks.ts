import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { maySee } from './look-up.ts';
import { dayOf, failedPlace, LIST_SHARDS, listPlace, type Status, type Task } from './task.ts';

export interface ListOptions {
  status?: Status;
  domain?: string;
  agent?: string;
  limit: number;
  cursor?: string;
}

export interface TaskPage {
  tasks: Task[];
  /** Absent at the end. A page with a cursor may still be short, or empty: its filter found little so far. */
  cursor?: string;
}

/** How many tasks one call looks at, whatever its filter lets through: the cost of a call does not grow with the store. */
const LOOKED_AT = 500;
/** How many tasks are read at a time. */
const PAGE = 100;
/** Open tasks can be older than the retention of finished ones, but hardly any is older than this. */
const OLDEST_DAYS = 30;

/** A page of tasks, newest first. */
export const listTasks = async (deps: Deps, caller: Caller, options: ListOptions): Promise<TaskPage> => {
  if (options.status === 'failed') return listFailed(deps, caller, options);
  const today = dayOf(deps.clock.now());
  const start = cursorFrom(options.cursor);
  let day = Math.min(start.day, today);
  let { after } = start;
  const tasks: Task[] = [];
  let looked = 0;
  for (; day > today - OLDEST_DAYS; day--, after = undefined) {
    let found: Task[];
    do {
      found = await newestOf(deps, caller.project, day, after, PAGE);
      for (const task of found) {
        after = task.listed?.s;
        if (isWanted(caller, task, options)) tasks.push(task);
        if (tasks.length === options.limit || ++looked === LOOKED_AT) return { tasks, cursor: `${day}:${after}` };
      }
    } while (found.length === PAGE);
  }
  return { tasks };
};

const newestOf = async (deps: Deps, project: string, day: number, after: string | undefined, limit: number) => {
  const shards = Array.from({ length: LIST_SHARDS }, (_, shard) =>
    deps.records.query<Task>({ index: 'listed', p: listPlace(project, day, shard), after, newestFirst: true, limit }),
  );
  const found = (await Promise.all(shards)).flat();
  return found.toSorted((a, b) => ((a.listed?.s ?? '') < (b.listed?.s ?? '') ? 1 : -1)).slice(0, limit);
};

/** Those failed for good have a list of their own, so that finding the few among millions costs nothing. */
const listFailed = async (deps: Deps, caller: Caller, options: ListOptions): Promise<TaskPage> => {
  const { limit } = options;
  const p = failedPlace(caller.project);
  if (options.cursor !== undefined && !/^\d{14}#[ -~]{1,200}$/.test(options.cursor)) throw badCursor();
  const found = await deps.records.query<Task>({ index: 'placed', p, after: options.cursor, newestFirst: true, limit });
  const tasks = found.filter((task) => isWanted(caller, task, options));
  return { tasks, cursor: found.length === limit ? found.at(-1)?.placed?.s : undefined };
};

const isWanted = (caller: Caller, task: Task, { status, domain, agent }: ListOptions): boolean =>
  (status === undefined || task.status === status) &&
  (domain === undefined || task.domain === domain) &&
  (agent === undefined || [task.from, task.to, task.holder].includes(agent)) &&
  maySee(caller, task);

const cursorFrom = (cursor = `${Number.MAX_SAFE_INTEGER}:`): { day: number; after?: string } => {
  const [, day, after] = /^(\d{1,16}):([ -~]{0,200})$/.exec(cursor) ?? [];
  if (day === undefined) throw badCursor();
  return { day: Number(day), after: after || undefined };
};

const badCursor = (): ParleyError =>
  new ParleyError('invalid_request', 'The cursor is not one that an earlier page gave.');
