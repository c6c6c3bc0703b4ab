import { type Agent, listWholeDomains } from '../../identity/agents/agent.ts';
import type { Caller } from '../../identity/auth/authenticate.ts';
import { failedListKey, holderKey, type Task, type TaskStatus } from '../../model/task.ts';
import type { TaskFilter } from '../../model/task-filter.ts';
import { and, type Condition, equals, equalsAny, notExists, or } from '../../ports/conditions.ts';
import type { ListedFields, ListQuery } from '../../ports/lists.ts';

/** Statuses of their own in lists. */
const RETRYING = 'retrying';
const DELAYED = 'delayed';

export const toListedTask = (task: Task): ListedFields => ({
  createdAt: task.createdAt,
  status: toListedStatus(task),
  type: task.capability,
  requester: task.from,
  addressee: task.to,
  holder: task.holder,
  domain: task.domain,
  conversation: task.conversation,
  error: task.error?.code,
  part: toListedPart(task),
});

const DEAD: readonly TaskStatus[] = ['failed', 'expired'];
const DEAD_LETTERS = 'dead-letter';

const toListedPart = ({ status, endedAt, at, retriedBy }: Task): ListedFields['part'] => {
  if (DEAD.includes(status)) return { name: DEAD_LETTERS, at: endedAt ?? at };
  return retriedBy === undefined ? undefined : 'left';
};

const toListedStatus = ({ status, notBefore, attempt }: Task): string => {
  if (status !== 'requested' || notBefore === undefined) return status;
  return attempt > 0 ? RETRYING : DELAYED;
};

/** Agents see their own tasks, and those that they could claim. */
export const buildTaskQuery = (caller: Caller, filter: TaskFilter): ListQuery<Task> => {
  const { project } = caller;
  const { since, until, idPrefix } = filter;
  const where = and(
    ...buildConditions(filter),
    ...(caller.role === 'agent' ? [isReadable(caller.registered.agent)] : []),
  );
  return {
    project,
    kind: 'task',
    toFields: toListedTask,
    where,
    since,
    until,
    idPrefix,
    within: findShorterList(project, filter),
  };
};

const buildConditions = (filter: TaskFilter): Condition[] => {
  const { status, agent, retrying, delayed, waits } = filter;
  return [
    ...(['type', 'error', 'requester', 'holder', 'domain', 'conversation'] as const).flatMap((field) =>
      filter[field] === undefined ? [] : [equals(field, filter[field])],
    ),
    ...(status
      ? [equalsAny('status', ...status.flatMap((one) => (one === 'requested' ? [one, RETRYING, DELAYED] : [one])))]
      : []),
    ...(retrying ? [equals('status', RETRYING)] : []),
    ...(delayed ? [equals('status', DELAYED)] : []),
    ...(waits ? [equals('status', 'input_required')] : []),
    ...(agent === undefined ? [] : [isParty(agent)]),
  ];
};

const isParty = (agent: string): Condition =>
  or(equals('requester', agent), equals('addressee', agent), equals('holder', agent));

/** As `canReadTask` has it. */
const isReadable = (agent: Agent): Condition =>
  or(
    isParty(agent.id),
    and(
      equalsAny('status', 'requested', RETRYING, DELAYED),
      notExists('addressee'),
      or(equalsAny('type', ...agent.capabilities), equalsAny('domain', ...listWholeDomains(agent))),
    ),
  );

const ASSIGNED: readonly TaskStatus[] = ['claimed', 'in_progress', 'input_required'];

const findShorterList = (project: string, { status = [], holder, waits }: TaskFilter): ListQuery<Task>['within'] => {
  const isAmong = (some: readonly TaskStatus[]): boolean =>
    status.length > 0 && status.every((one) => some.includes(one));
  if (isAmong(DEAD)) return { index: 'byList', pk: failedListKey(project) };
  const isAssigned = waits === true || isAmong(ASSIGNED);
  return isAssigned && holder !== undefined ? { index: 'byHolder', pk: holderKey(project, holder) } : undefined;
};

/** The newest ends first. */
export const buildDeadLetterQuery = (caller: Caller, { status = DEAD, ...filter }: TaskFilter): ListQuery<Task> => ({
  ...buildTaskQuery(caller, { ...filter, status }),
  part: DEAD_LETTERS,
});
