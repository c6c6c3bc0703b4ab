import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { RELATED_RETENTION_MS } from '../../kernel/retention.ts';
import type { TaskRequestCommand } from '../../model/command.ts';
import { getDelegationChain, isOpen, type Task, taskRef } from '../../model/task.ts';
import { notEquals } from '../../ports/conditions.ts';
import type { TransactionWrite } from '../../ports/records.ts';
import { findTaskByAnyId } from '../ids/aliases.ts';
import { canReadTask } from '../queries/can-read-task.ts';

export interface Lineage {
  parent?: Task;
  /** Earlier holders; absent if the requester is the only one. */
  delegationChain?: string[];
}

export const resolveLineage = async (
  deps: Deps,
  caller: Caller,
  request: TaskRequestCommand,
): Promise<Lineage | ParleyError> => {
  const { delegationChain: named = [], from } = request;
  const parent = request.parent === undefined ? undefined : await findParent(deps, caller, request, request.parent);
  const handled = parent ? [...getDelegationChain(parent), ...named] : named;
  const delegationChain = handled.filter((agent, at) => handled.indexOf(agent) === at);
  if (delegationChain.at(-1) !== from) delegationChain.push(from);
  const back = checkDelegationCycle(request, delegationChain, parent);
  return back ?? { parent, delegationChain: delegationChain.length > 1 ? delegationChain : undefined };
};

const checkDelegationCycle = (
  request: TaskRequestCommand,
  delegationChain: string[],
  parent: Task | undefined,
): ParleyError | undefined => {
  const { from, to } = request;
  const isBack = to !== undefined && delegationChain.includes(to);
  if (!isBack || request.isBoundedByDepth || isToAnotherInstance(request, delegationChain)) return undefined;
  if (request.isQuestion && parent && isQuestionToRequester(request, parent)) return undefined;
  return to === from && delegationChain.length === 1
    ? selfDelegationError(to)
    : delegationCycleError(to, delegationChain);
};

/** Instances of one agent may share work that nobody has held yet. */
const isToAnotherInstance = ({ instance, fromInstance }: TaskRequestCommand, delegationChain: string[]): boolean =>
  delegationChain.length === 1 && instance !== undefined && fromInstance !== undefined && instance !== fromInstance;

/**
 * A question to the requester is no delegation. A question about such a question is, or two agents could ask each
 * other forever.
 */
const isQuestionToRequester = ({ from, to }: TaskRequestCommand, parent: Task): boolean =>
  parent.holder === from && parent.from === to && !getDelegationChain(parent).includes(from);

/**
 * An unknown parent id is kept but links nothing. If it may be the id of any message, only open tasks of the sender
 * count.
 */
const findParent = async (
  { records }: Deps,
  caller: Caller,
  { isSubtask, from }: TaskRequestCommand,
  id: string,
): Promise<Task | undefined> => {
  if (isSubtask) {
    const parent = await records.get(taskRef(caller.project, id));
    return parent && canReadTask(caller, parent) ? parent : undefined;
  }
  const named = await findTaskByAnyId(records, caller.project, id);
  return named && isOpen(named) && [named.from, named.to, named.holder].includes(from) ? named : undefined;
};

/** In the same transaction: the link, and the check that the parent is not cancelled. */
export const buildChildLinkWrites = (parent: Task, taskId: string, now: number): TransactionWrite[] => [
  { kind: 'create', item: { ...childLinkKey(parent, taskId), taskId, expires: now + RELATED_RETENTION_MS } },
  {
    kind: 'update',
    key: taskRef(parent.project, parent.id),
    change: { if: notEquals('status', 'cancelled'), add: { childCount: 1 } },
  },
];

const childLinkKey = (parent: Task, taskId: string) => ({ pk: parent.pk, sk: `child#${taskId}` });

export const delegationCycleError = (agent: string, delegationChain: string[]): ParleyError =>
  new ParleyError('delegation_cycle', `${agent} has had this work in hand already: ${delegationChain.join(' → ')}.`, {
    details: { delegationChain },
  });

export const taskDeclinedError = (agent: string, taskId: string): ParleyError =>
  new ParleyError(
    'not_eligible',
    `${agent} has said that it cannot do the task ${taskId}, which now waits for others.`,
  );

const selfDelegationError = (agent: string): ParleyError =>
  new ParleyError('delegation_cycle', `${agent} cannot delegate to itself. Name another agent, or do the work.`, {
    details: { delegationChain: [agent] },
  });
