import { ParleyError } from '../../kernel/errors.ts';
import type { Operation, OperationKind } from '../../model/operation.ts';
import { TASK_STATUSES, type Task, type TaskStatus, TERMINAL_STATUSES } from '../../model/task.ts';
import type { TaskFilter } from '../../model/task-filter.ts';
import { and, equals } from '../../ports/conditions.ts';
import type { ListQuery } from '../../ports/lists.ts';
import { buildTaskQuery } from '../../tasks/queries/list-tasks.ts';

const OPEN_STATUSES = TASK_STATUSES.filter((status) => !TERMINAL_STATUSES.some((end) => end === status));

const STATUSES_BY_KIND: Readonly<Record<OperationKind, readonly TaskStatus[]>> = {
  cancel: OPEN_STATUSES,
  retry: ['failed', 'expired'],
};

type OperationScope = Pick<Operation, 'project' | 'kind' | 'filter' | 'requester' | 'createdAt'>;

/** The tasks that it changes. Those that are created after its start are none of them. */
export const buildOperationQuery = ({
  project,
  kind,
  filter,
  requester,
  createdAt,
}: OperationScope): ListQuery<Task> => {
  const { status = STATUSES_BY_KIND[kind], until = Infinity } = filter;
  const possible = { ...filter, status, until: Math.min(until, createdAt + 1) };
  const query = buildTaskQuery({ project, role: 'admin' }, possible);
  return requester === undefined ? query : { ...query, where: and(query.where, equals('requester', requester)) };
};

/** Nobody cancels everything by mistake. */
export const assertPossibleFilter = (kind: OperationKind, filter: TaskFilter): void => {
  if (Object.keys(filter).length === 0) {
    throw new ParleyError('invalid_request', 'The filter is empty. For all tasks, name their statuses.');
  }
  const impossible = filter.status?.find((status) => !STATUSES_BY_KIND[kind].includes(status));
  if (impossible === undefined) return;
  const possible = STATUSES_BY_KIND[kind].join(', ');
  throw new ParleyError('invalid_request', `Tasks that are ${impossible} cannot be changed so, only ${possible}.`);
};
