import type { Deps } from '../../identity/deps.ts';
import { mapConcurrent } from '../../kernel/concurrency.ts';
import { ParleyError } from '../../kernel/errors.ts';
import type { Effect } from '../../model/effect.ts';
import { isRunning, type Operation, type OperationFailure, operationRef } from '../../model/operation.ts';
import { type Task, taskRef } from '../../model/task.ts';
import { and, type Change, equals, equalsAny, evaluateCondition } from '../../ports/conditions.ts';
import type { ListQuery } from '../../ports/lists.ts';
import type { RecordChange } from '../../ports/records.ts';
import { prepareRetry } from '../../tasks/commands/manage-task.ts';
import { updateTask } from '../../tasks/commands/update-task.ts';
import { toListedTask } from '../../tasks/queries/list-tasks.ts';
import { buildCancelTransition, toTransitionContext } from '../../tasks/transitions/end-and-requeue.ts';
import { applyTo } from '../../tasks/transitions/rules.ts';
import { buildOperationQuery } from './operation-query.ts';

export const OPERATION_PAGE_SIZE = 100;
const CONCURRENCY = 25;
const MAX_FAILURES = 20;

type TaskResult = 'changed' | 'skipped' | OperationFailure;

/** One page. A repeated one changes no task twice: each carries the id of the operation. */
export const onOperationTimer = async (deps: Deps, operation: Operation): Promise<void> => {
  if (!isRunning(operation)) return;
  const isStopping = operation.status === 'stopping';
  const query = buildOperationQuery(operation);
  const results = isStopping
    ? await countChanged(deps, operation)
    : await mapConcurrent(operation.page, CONCURRENCY, (id) => changeTask(deps, operation, query, id));
  const change = isStopping ? buildEndChange(deps, 'stopped') : await buildNextPage(deps, operation, query);
  await deps.records.update(
    operationRef(operation.project, operation.id),
    {
      ...change,
      // A stop in between does not undo the page.
      if: and(equals('finishedPages', operation.finishedPages), equalsAny('status', 'running', 'stopping')),
      set: { ...change.set, failures: listFailures(operation, results) },
      add: { finishedPages: 1, ...countResults(results) },
    },
    deps.newId(),
  );
};

const countResults = (results: TaskResult[]): Record<string, number> => ({
  changed: results.filter((result) => result === 'changed').length,
  skipped: results.filter((result) => result === 'skipped').length,
  failed: results.filter((result) => typeof result === 'object').length,
});

const listFailures = ({ failures }: Operation, results: TaskResult[]): OperationFailure[] =>
  [...failures, ...results.filter((result) => typeof result === 'object')].slice(0, MAX_FAILURES);

/** Of a page that may have been begun before the stop. */
const countChanged = async (deps: Deps, { project, id, page }: Operation): Promise<TaskResult[]> => {
  const tasks = await deps.records.getMany(page.map((task) => taskRef(project, task)));
  return tasks.filter(({ operationId }) => operationId === id).map(() => 'changed');
};

const buildNextPage = async (deps: Deps, operation: Operation, query: ListQuery<Task>): Promise<Change> => {
  if (operation.cursor === undefined) return buildEndChange(deps, 'completed');
  const options = { after: operation.cursor, limit: OPERATION_PAGE_SIZE };
  const { records, cursor } = await deps.records.list(query, options);
  const due = Math.max(deps.clock.now(), (operation.due ?? 0) + 1);
  return {
    set: { page: records.map(({ id }) => id), cursor, due },
    unset: cursor === undefined ? ['cursor'] : [],
  };
};

const buildEndChange = ({ clock, config }: Deps, status: 'completed' | 'stopped'): Change => {
  const now = clock.now();
  return {
    set: { status, page: [], endedAt: now, expires: now + config.tasks.retentionMs },
    unset: ['due', 'cursor'],
  };
};

const changeTask = async (
  deps: Deps,
  operation: Operation,
  query: ListQuery<Task>,
  taskId: string,
): Promise<TaskResult> => {
  const { project, id: operationId } = operation;
  try {
    const prepared = await prepareChange(deps, operation, taskId);
    const done = await updateTask(deps, project, taskId, undefined, (task) =>
      task.operationId === operationId || !evaluateCondition(query.where, toListedTask(task))
        ? 'unchanged'
        : prepared(task),
    );
    return done.outcome === 'changed' || done.record.operationId === operationId ? 'changed' : 'skipped';
  } catch (error) {
    if (!(error instanceof ParleyError) || error.retryable) throw error;
    const { code, message } = error;
    return code === 'task_not_found' ? 'skipped' : { taskId, code, message };
  }
};

const prepareChange = async (
  deps: Deps,
  { project, id: operationId, kind, by, reason }: Operation,
  taskId: string,
): Promise<(task: Task) => Change | ParleyError> => {
  const details = { reason, operationId };
  if (kind === 'cancel') return (task) => applyTo(task, buildCancelTransition(by, toTransitionContext(deps), details));
  return prepareRetry(deps, await deps.records.get(taskRef(project, taskId)), by, details);
};

/** Publishes the start and the end. */
export const computeOperationEffects = ({ before, after }: RecordChange<Operation>): Effect[] => {
  if (!after || (before && isRunning(before) === isRunning(after))) return [];
  const { id, project, kind, by, reason, requester: from, status, changed, skipped, failed, v, at } = after;
  const type = isRunning(after) ? 'operation.started' : 'operation.ended';
  const counts = isRunning(after) ? {} : { status, changed, skipped, failed };
  const data = { operationId: id, kind, by, reason, from, ...counts };
  return [{ kind: 'publish', event: { id: `operation/${id}:${v}:${type}`, project, type, at, data } }];
};
