import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { failedListKey, holderKey, type Task, type TaskStatus, taskRef } from '../../model/task.ts';
import type { ParleyEvent } from '../../ports/events.ts';
import type { Ref } from '../../ports/records.ts';
import { canReadTask } from './can-read-task.ts';

interface TaskListOptions {
  status?: TaskStatus;
  domain?: string;
  agent?: string;
  conversation?: string;
  limit: number;
  cursor?: string;
}

interface TaskPage {
  tasks: Task[];
  /** Absent at the end. A page with a cursor may be short or empty. */
  cursor?: string;
}

/** Bounds the cost of a call with a selective filter. */
const MAX_LOG_READS = 5;
/** After the first read, which is as large as the page. */
const LOG_PAGE_SIZE = 100;

/** Newest first, from the event log. */
export const listTasks = async (deps: Deps, caller: Caller, options: TaskListOptions): Promise<TaskPage> => {
  if (options.status === 'failed') return listFailed(deps, caller, options);
  return isAssignedQuery(options) ? listAssigned(deps, caller, options) : listFromEventLog(deps, caller, options);
};

const listFromEventLog = async (deps: Deps, caller: Caller, options: TaskListOptions): Promise<TaskPage> => {
  const tasks: Task[] = [];
  let cursor = options.cursor ?? (await deps.events.getEnd(caller.project));
  for (let reads = 0; reads < MAX_LOG_READS; reads++) {
    const from = { after: cursor, types: ['task.requested'], newestFirst: true };
    const page = await deps.events.read(caller.project, {
      ...from,
      limit: reads === 0 ? options.limit : LOG_PAGE_SIZE,
    });
    if (page.cursor === cursor) return { tasks: sortNewestFirst(tasks) };
    const made = await findCreatedTasks(deps, page.events);
    for (const [at, task] of made.entries()) {
      if (!task || !isMatch(caller, task, options) || tasks.some(({ id }) => id === task.id)) continue;
      tasks.push(task);
      if (tasks.length < options.limit) continue;
      // The next page starts after this task.
      const until = at + 1 === made.length ? page : await deps.events.read(caller.project, { ...from, limit: at + 1 });
      return { tasks: sortNewestFirst(tasks), cursor: until.cursor };
    }
    cursor = page.cursor;
  }
  return { tasks: sortNewestFirst(tasks), cursor };
};

/** The log may have close creations in reverse order. */
const sortNewestFirst = (tasks: Task[]): Task[] => tasks.toSorted((a, b) => b.createdAt - a.createdAt);

/** Tasks of creation events. A retry publishes one too. */
const findCreatedTasks = async (deps: Deps, events: ParleyEvent[]): Promise<(Task | undefined)[]> => {
  const refs = new Map(
    events.filter(({ id }) => id.endsWith(':1:task.requested')).map((event) => [event.id, toTaskRef(event)]),
  );
  const tasks = await deps.records.getMany([...refs.values()]);
  return events.map((event) => {
    const pk = refs.get(event.id)?.pk;
    // Another task may have the id by now.
    return tasks.find((task) => task.pk === pk && task.createdAt <= event.at);
  });
};

const toTaskRef = ({ project, data }: ParleyEvent): Ref<Task> => taskRef(project, String(data.taskId));

/** Dead letters have their own index. */
const listFailed = async (deps: Deps, caller: Caller, options: TaskListOptions): Promise<TaskPage> => {
  const { limit } = options;
  const p = failedListKey(caller.project);
  if (options.cursor !== undefined && !/^\d{14}#[ -~]{1,200}$/.test(options.cursor)) throw invalidCursorError();
  const found = await deps.records.query<Task>({
    index: 'byList',
    pk: p,
    after: options.cursor,
    newestFirst: true,
    limit,
  });
  const tasks = found.filter((task) => isMatch(caller, task, options));
  return { tasks, cursor: found.length === limit ? found.at(-1)?.byList?.sk : undefined };
};

type AssignedListOptions = TaskListOptions & { agent: string };

const ASSIGNED_STATUSES: (TaskStatus | undefined)[] = ['claimed', 'in_progress', 'input_required'];

const isAssignedQuery = (options: TaskListOptions): options is AssignedListOptions =>
  options.agent !== undefined && ASSIGNED_STATUSES.includes(options.status);

/** A cursor in the list of held tasks; cursors of the event log have no prefix. */
const ASSIGNED_CURSOR_PREFIX = 'held:';

/** First the tasks that the agent holds, then those that others hold for it. */
const listAssigned = async (deps: Deps, caller: Caller, options: AssignedListOptions): Promise<TaskPage> => {
  const { agent, limit, cursor = ASSIGNED_CURSOR_PREFIX } = options;
  const isOthers = (task: Task): boolean => task.holder !== agent;
  if (!cursor.startsWith(ASSIGNED_CURSOR_PREFIX)) {
    const page = await listFromEventLog(deps, caller, options);
    return { ...page, tasks: page.tasks.filter(isOthers) };
  }
  const after = cursor.slice(ASSIGNED_CURSOR_PREFIX.length);
  if (!/^(\d{14}#.{1,200})?$/.test(after)) throw invalidCursorError();
  const found = await deps.records.query<Task>({
    index: 'byHolder',
    pk: holderKey(caller.project, agent),
    after: after === '' ? undefined : after,
    newestFirst: true,
    limit,
  });
  const tasks = found.filter((task) => isMatch(caller, task, options));
  const isMore = found.length === limit;
  return {
    tasks,
    cursor: isMore
      ? `${ASSIGNED_CURSOR_PREFIX}${found.at(-1)?.byHolder?.sk}`
      : await deps.events.getEnd(caller.project),
  };
};

const isMatch = (caller: Caller, task: Task, { status, domain, agent, conversation }: TaskListOptions): boolean =>
  (status === undefined || task.status === status) &&
  (domain === undefined || task.domain === domain) &&
  (conversation === undefined || task.conversation === conversation) &&
  (agent === undefined || [task.from, task.to, task.holder].includes(agent)) &&
  canReadTask(caller, task);

const invalidCursorError = (): ParleyError =>
  new ParleyError('invalid_request', 'The cursor is not one that an earlier page gave.');
