import type { Caller } from '../agents/authenticate.ts';
import type { Deps } from '../deps.ts';
import { ParleyError } from '../errors.ts';
import type { Request } from '../messages/command.ts';
import { isNot } from '../ports/conditions.ts';
import type { Write } from '../ports/records.ts';
import { taskByAnyId } from './alias.ts';
import { backTo, chainOf, toItself } from './chain.ts';
import { LINK_KEPT_MS } from './links.ts';
import { maySee } from './may-see.ts';
import { isOpen, type Task, taskRef } from './task.ts';

/** Where a task comes from. */
export interface Lineage {
  /** The parent that it is linked to. */
  parent?: Task;
  /** Who had the work in hand before; absent where that is the requester alone. */
  chain?: string[];
}

export const lineageOf = async (deps: Deps, caller: Caller, request: Request): Promise<Lineage | ParleyError> => {
  const { chain: said = [], from } = request;
  const parent = request.parent === undefined ? undefined : await parentOf(deps, caller, request, request.parent);
  if (parent instanceof Error) return parent;
  const handled = parent ? [...chainOf(parent), ...said] : said;
  const chain = handled.filter((agent, at) => handled.indexOf(agent) === at);
  if (chain.at(-1) !== from) chain.push(from);
  const back = cycleIn(request, chain, parent);
  return back ?? { parent, chain: chain.length > 1 ? chain : undefined };
};

const cycleIn = (request: Request, chain: string[], parent: Task | undefined): ParleyError | undefined => {
  const { from, to } = request;
  const isBack = to !== undefined && chain.includes(to);
  if (!isBack || request.isBoundedByDepth || isToAnotherInstance(request, chain)) return undefined;
  if (request.isQuestion && parent && asksItsRequester(request, parent)) return undefined;
  return to === from && chain.length === 1 ? toItself(to) : backTo(to, chain);
};

/** Instances of one agent may share work that nobody has had in hand yet. */
const isToAnotherInstance = ({ instance, fromInstance }: Request, chain: string[]): boolean =>
  chain.length === 1 && instance !== undefined && fromInstance !== undefined && instance !== fromInstance;

/** A question back is no delegation; one about such a question would be, or two agents could ask each other for ever. */
const asksItsRequester = ({ from, to }: Request, parent: Task): boolean =>
  parent.holder === from && parent.from === to && !chainOf(parent).includes(from);

/** Protocols in which the name of a parent may be that of any message mean one where it is work that the sender has a part in. */
const parentOf = async (
  { records }: Deps,
  caller: Caller,
  { isSubtask, from }: Request,
  id: string,
): Promise<Task | undefined | ParleyError> => {
  if (isSubtask) {
    const parent = await records.get(taskRef(caller.project, id));
    if (parent && maySee(caller, parent)) return parent;
    return new ParleyError('unknown_parent', `There is no task ${id} that this one could be a part of.`);
  }
  const named = await taskByAnyId(records, caller.project, id);
  return named && isOpen(named) && [named.from, named.to, named.holder].includes(from) ? named : undefined;
};

/** Written with the task: the link, and with it that the parent has not been cancelled, which would cancel its children. */
export const linkWrites = (parent: Task, taskId: string, now: number): Write[] => [
  { kind: 'create', item: { ...linkKey(parent, taskId), taskId, expires: now + LINK_KEPT_MS } },
  {
    kind: 'update',
    key: taskRef(parent.project, parent.id),
    change: { if: isNot('status', 'cancelled'), add: { children: 1 } },
  },
];

const linkKey = (parent: Task, taskId: string) => ({ pk: parent.pk, sk: `child#${taskId}` });
