import type { Agent } from '../../identity/agents/agent.ts';
import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { SHORT_ID, toShortId } from '../../kernel/ids.ts';
import { RELATED_RETENTION_MS } from '../../kernel/retention.ts';
import type { TaskReport } from '../../model/command.ts';
import { holderKey, isOpen, type Task, taskRef, toSortableTime } from '../../model/task.ts';
import type { Item, NewItem } from '../../ports/records.ts';
import { findPrior } from '../commands/deduplicate.ts';

/**
 * An eight-digit id, stored under the requester, and under the recipient and requester. No agent can write into the
 * list of another.
 */
interface ShortIdRecord extends Item {
  from: string;
  to: string;
  taskId: string;
}

const shortIdPk = (project: string, short: string): string => `${project}#short-id#${short}`;
const REQUESTER_PREFIX = '<';
const RECIPIENT_PREFIX = '>';
const buildRequesterPrefix = (from: string): string => `${REQUESTER_PREFIX}${from}#`;
const buildRecipientPrefix = (to: string, from = ''): string =>
  from === '' ? `${RECIPIENT_PREFIX}${to}#` : `${RECIPIENT_PREFIX}${to}#${from}#`;

interface ShortIdAssignment {
  to: string;
  sentAt: number;
  now: number;
  aliasId?: string;
}

/** The recipient's view. */
export const buildRecipientShortId = (
  { project, id, from }: Pick<Task, 'project' | 'id' | 'from'>,
  { to, sentAt, now, aliasId = id }: ShortIdAssignment,
): NewItem<ShortIdRecord> => ({
  pk: shortIdPk(project, toShortId(aliasId)),
  sk: `${buildRecipientPrefix(to, from)}${toSortableTime(sentAt)}#${id}`,
  from,
  to,
  taskId: id,
  expires: now + RELATED_RETENTION_MS,
});

/** The requester's view. */
export const buildRequesterShortId = (
  task: Pick<Task, 'project' | 'id' | 'from'>,
  naming: ShortIdAssignment,
): NewItem<ShortIdRecord> => ({
  ...buildRecipientShortId(task, naming),
  sk: `${buildRequesterPrefix(task.from)}${toSortableTime(naming.sentAt)}#${task.id}`,
});

/** Per pair of agents and digits. */
const MAX_CANDIDATES = 10;

/** The task of a report with a short id; undefined if there is none. */
export const findTaskByShortId = async (
  deps: Deps,
  agent: Pick<Agent, 'project' | 'id'>,
  report: TaskReport,
): Promise<string | undefined> => {
  const { taskId, requester = '' } = report;
  const [sent, named] = await Promise.all([
    findPrior(deps, agent.project, report),
    taskId === '' ? findOnlyAssignedTask(deps, agent, requester) : findNamedTask(deps, agent, requester, taskId),
  ]);
  // A repetition is about the same task, even if that is no longer the only open one.
  return sent ? sent.taskId : named;
};

const findNamedTask = async (
  deps: Deps,
  agent: Pick<Agent, 'project' | 'id'>,
  requester: string,
  short: string,
): Promise<string | undefined> => {
  const under = (prefix: string) => ({
    pk: shortIdPk(agent.project, short),
    prefix,
    newestFirst: true,
    limit: MAX_CANDIDATES,
  });
  const found = await deps.records.query<ShortIdRecord>(under(buildRecipientPrefix(agent.id, requester)));
  // Records of earlier versions may still be open.
  const names = found.length > 0 ? found : await deps.records.query<ShortIdRecord>(under(`${requester}>${agent.id}#`));
  if (names.length <= 1) return names[0]?.taskId;
  const kept = await deps.records.getMany(names.map((name) => taskRef(agent.project, name.taskId)));
  const tasks = names.flatMap((name) => kept.find((task) => task.id === name.taskId) ?? []);
  const held = tasks.find((task) => isOpen(task) && task.holder === agent.id);
  return (held ?? tasks.find(isOpen) ?? tasks[0])?.id;
};

/** Of this requester and holder. */
export const findRequestedTask = async (
  deps: Deps,
  { project, id }: Pick<Agent, 'project' | 'id'>,
  { holder, short }: { holder: string; short: string },
): Promise<string | undefined> => {
  const prefix = buildRequesterPrefix(id);
  const found = await deps.records.query<ShortIdRecord>({
    pk: shortIdPk(project, short),
    prefix,
    newestFirst: true,
    limit: MAX_CANDIDATES,
  });
  return found.find(({ to }) => to === holder)?.taskId;
};

const findOnlyAssignedTask = async (
  deps: Deps,
  { project, id }: Pick<Agent, 'project' | 'id'>,
  requester: string,
): Promise<string | undefined> => {
  const [task, another] = await deps.records.query<Task>({ index: 'byHolder', pk: holderKey(project, id), limit: 2 });
  return !another && task?.from === requester ? task.id : undefined;
};

export const taskNotFoundByShortIdError = ({ taskId, requester, from }: TaskReport): ParleyError =>
  new ParleyError(
    'task_not_found',
    taskId === ''
      ? `${from} holds no task of ${requester}, or several: name one by correlation_id.`
      : `There is no task ${taskId} that ${requester} gave to ${from}.`,
  );

/**
 * The caller's newest request with these digits, or else the newest task that it was given. Other ids are returned
 * unchanged. Digits from several requesters are ambiguous.
 */
export const resolveShortId = (deps: Deps, caller: Caller, id: string): string | Promise<string> =>
  SHORT_ID.test(id) ? findNewestByShortId(deps, caller, id) : id;

const findNewestByShortId = async (deps: Deps, caller: Caller, id: string): Promise<string> => {
  const p = shortIdPk(caller.project, id);
  const own =
    caller.role === 'admin'
      ? [REQUESTER_PREFIX, RECIPIENT_PREFIX]
      : [buildRequesterPrefix(caller.registered.agent.id), buildRecipientPrefix(caller.registered.agent.id)];
  for (const prefix of own) {
    const [[first], [last]] = await Promise.all([
      deps.records.query<ShortIdRecord>({ pk: p, prefix, limit: 1 }),
      deps.records.query<ShortIdRecord>({ pk: p, prefix, newestFirst: true, limit: 1 }),
    ]);
    if (!first || !last) continue;
    if (first.from === last.from || first.taskId === last.taskId) return last.taskId;
    throw ambiguousShortIdError(id, [first, last]);
  }
  return id;
};

const ambiguousShortIdError = (id: string, names: ShortIdRecord[]): ParleyError =>
  new ParleyError('ambiguous_id', `Several agents call a task ${id}. Name the one that is meant by its whole id.`, {
    details: { tasks: names.map(({ taskId, from, to }) => ({ taskId, from, to })) },
  });
