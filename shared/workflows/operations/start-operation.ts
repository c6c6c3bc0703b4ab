import { type Caller, getCallerName } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { type Operation, type OperationKind, operationRef } from '../../model/operation.ts';
import type { Task } from '../../model/task.ts';
import type { TaskFilter } from '../../model/task-filter.ts';
import { equals } from '../../ports/conditions.ts';
import type { Count } from '../../ports/lists.ts';
import type { NewItem } from '../../ports/records.ts';
import { updateWithRetry } from '../../storage/update-with-retry.ts';
import { assertPossibleFilter, buildOperationQuery } from './operation-query.ts';
import { getOperation, operationNotFoundError } from './operation-view.ts';
import { OPERATION_PAGE_SIZE } from './run-operation.ts';

interface WantedOperation {
  id: string;
  kind: OperationKind;
  filter: TaskFilter;
  reason?: string | undefined;
}

/** The timer changes the tasks, page by page, also after a crash. */
export const startOperation = async (
  deps: Deps,
  caller: Caller,
  { id, kind, filter: given, reason }: WantedOperation,
): Promise<Operation> => {
  const filter = pickGiven(given);
  assertPossibleFilter(kind, filter);
  const { project } = caller;
  const now = deps.clock.now();
  const scope = { project, kind, filter, requester: getRequester(caller), createdAt: now };
  const query = buildOperationQuery(scope);
  const [expected, first] = await Promise.all([
    deps.records.count(query),
    deps.records.list(query, { limit: OPERATION_PAGE_SIZE }),
  ]);
  const fresh: NewItem<Operation> = {
    ...operationRef(project, id),
    ...scope,
    ...{ sk: 'operation', id, by: getCallerName(caller), reason, status: 'running', expected, due: now },
    ...{ page: first.records.map((task) => task.id), cursor: first.cursor },
    ...{ finishedPages: 0, changed: 0, skipped: 0, failed: 0, failures: [] },
  };
  const created = await deps.records.create<Operation>(fresh, deps.newId());
  // The same call was executed before.
  const operation = created.outcome === 'written' ? created.after : created.existing;
  if (!operation) throw operationNotFoundError(id);
  return operation;
};

/** What it would change. */
export const previewOperation = async (
  deps: Deps,
  caller: Caller,
  { kind, filter: given }: Omit<WantedOperation, 'id'>,
  limit: number,
): Promise<{ count: Count; sample: Task[] }> => {
  const filter = pickGiven(given);
  assertPossibleFilter(kind, filter);
  const { project } = caller;
  const createdAt = deps.clock.now();
  const query = buildOperationQuery({ project, kind, filter, requester: getRequester(caller), createdAt });
  const [count, page] = await Promise.all([deps.records.count(query), deps.records.list(query, { limit })]);
  return { count, sample: page.records };
};

/** The page that is being changed is finished. Idempotent. */
export const stopOperation = async (deps: Deps, caller: Caller, id: string): Promise<Operation> => {
  await getOperation(deps, caller, id);
  const ref = operationRef(caller.project, id);
  const set = { status: 'stopping', stoppedBy: getCallerName(caller) };
  const done = await updateWithRetry(deps.records, ref, deps.newId(), undefined, (operation) => {
    if (!operation) throw operationNotFoundError(id);
    return operation.status === 'running' ? { if: equals('v', operation.v), set } : 'unchanged';
  });
  return done.outcome === 'changed' ? done.after : done.record;
};

/** An agent changes what it has requested. */
const getRequester = (caller: Caller): string | undefined =>
  caller.role === 'agent' ? caller.registered.agent.id : undefined;

const pickGiven = (filter: TaskFilter): TaskFilter =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
