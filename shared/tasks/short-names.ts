import type { Agent } from '../agents/agent.ts';
import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import { SHORT_ID, shortId } from '../ids.ts';
import type { TaskReport } from '../messages/command.ts';
import { saidBefore } from '../messages/said-once.ts';
import type { Fresh, Item } from '../ports/records.ts';
import { heldPlace, isOpen, sortable, type Task, taskRef } from './task.ts';

/**
 * What a requester and an agent call a task in a protocol that has room for eight digits only. It stands among all tasks with the
 * same digits, so that one read finds those of a pair, the newest first.
 */
interface ShortName extends Item {
  from: string;
  to: string;
  taskId: string;
}

/** Longer than a task is kept. */
const KEPT_MS = 30 * 86_400_000;

const namesPk = (project: string, short: string): string => `${project}#short#${short}`;
const pairOf = (from: string, to: string): string => `${from}>${to}#`;

export const shortNameOf = (
  { project, id, from }: Pick<Task, 'project' | 'id' | 'from'>,
  to: string,
  sentAt: number,
  now: number,
  called = id,
): Fresh<ShortName> => ({
  pk: namesPk(project, shortId(called)),
  sk: `${pairOf(from, to)}${sortable(sentAt)}#${id}`,
  from,
  to,
  taskId: id,
  expires: now + KEPT_MS,
});

/** More tasks of one pair with the same eight digits than there will ever be. */
const LOOKED_AT = 10;

/** The task that a report is about, where it has no more than a short name of it; undefined where there is none. */
export const taskCalled = async (
  deps: Deps,
  agent: Pick<Agent, 'project' | 'id'>,
  report: TaskReport,
): Promise<string | undefined> => {
  const { taskId, requester = '' } = report;
  const [said, named] = await Promise.all([
    saidBefore(deps, agent.project, report),
    taskId === '' ? onlyTask(deps, agent, requester) : namedTask(deps, agent, requester, taskId),
  ]);
  // The same message again is about what it was about, though that may no longer be open, or no longer alone.
  return said ? said.taskId : named;
};

const namedTask = async (
  deps: Deps,
  agent: Pick<Agent, 'project' | 'id'>,
  requester: string,
  short: string,
): Promise<string | undefined> => {
  const names = await deps.records.query<ShortName>({
    p: namesPk(agent.project, short),
    prefix: pairOf(requester, agent.id),
    newestFirst: true,
    limit: LOOKED_AT,
  });
  if (names.length <= 1) return names[0]?.taskId;
  const found = await deps.records.getMany(names.map((name) => taskRef(agent.project, name.taskId)));
  const tasks = names.flatMap((name) => found.find((task) => task.id === name.taskId) ?? []);
  const held = tasks.find((task) => isOpen(task) && task.holder === agent.id);
  return (held ?? tasks.find(isOpen) ?? tasks[0])?.id;
};

const onlyTask = async (
  deps: Deps,
  { project, id }: Pick<Agent, 'project' | 'id'>,
  requester: string,
): Promise<string | undefined> => {
  const [task, another] = await deps.records.query<Task>({ index: 'held', p: heldPlace(project, id), limit: 2 });
  return !another && task?.from === requester ? task.id : undefined;
};

export const noTaskCalled = ({ taskId, requester, from }: TaskReport): ParleyError =>
  new ParleyError(
    'task_not_found',
    taskId === ''
      ? `${from} holds no task of ${requester}, or several: name one by correlation_id.`
      : `There is no task ${taskId} that ${requester} gave to ${from}.`,
  );

/** The newest task of these eight digits that the caller had to do with; any other id is what it is. */
export const unshortened = (deps: Deps, caller: Caller, id: string): string | Promise<string> =>
  SHORT_ID.test(id) ? newestCalled(deps, caller, id) : id;

const newestCalled = async (deps: Deps, caller: Caller, id: string): Promise<string> => {
  const names = await deps.records.query<ShortName>({ p: namesPk(caller.project, id), limit: PAGE });
  const known = names.filter(({ from, to }) => caller.role === 'admin' || [from, to].includes(caller.known.agent.id));
  const [newest] = known.toSorted((a, b) => (timeIn(a) < timeIn(b) ? 1 : -1));
  return newest?.taskId ?? id;
};

const PAGE = 100;
const timeIn = ({ sk }: ShortName): string => sk.slice(sk.indexOf('#'));
