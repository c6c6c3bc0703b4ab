import * as z from 'zod';
import type { Caller } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { ParleyError } from '../../kernel/errors.ts';
import {
  isRunning,
  OPERATION_KINDS,
  OPERATION_STATUSES,
  type Operation,
  type OperationKind,
  type OperationStatus,
  operationRef,
} from '../../model/operation.ts';
import { toIso } from '../../ports/clock.ts';
import { and, equals, equalsAny } from '../../ports/conditions.ts';
import type { ListedFields, ListQuery } from '../../ports/lists.ts';
import { waitUntil } from '../../storage/wait-until.ts';

export const OperationView = z
  .object({
    operationId: z.string(),
    kind: z.enum(OPERATION_KINDS),
    status: z.enum(OPERATION_STATUSES),
    filter: z.looseObject({}).describe('as the call had it'),
    reason: z.string().optional(),
    by: z.string().describe('the agent that started it, or `admin`'),
    expected: z.object({ value: z.number(), isExact: z.boolean() }).describe('matches when it started'),
    changed: z.number(),
    skipped: z.number().describe('tasks that no longer matched when their turn came'),
    failed: z.number().describe('tasks that could not be changed'),
    failures: z.array(z.object({ taskId: z.string(), code: z.string(), message: z.string() })).describe('the first 20'),
    createdAt: z.iso.datetime(),
    stoppedBy: z.string().optional(),
    endedAt: z.iso.datetime().optional(),
  })
  .meta({ id: 'Operation' });

export const toOperationView = (operation: Operation): z.output<typeof OperationView> => {
  const { id, kind, status, filter, reason, by, expected, stoppedBy, createdAt, endedAt } = operation;
  const { changed, skipped, failed, failures } = operation;
  const [since, until] = [toIso(filter.since), toIso(filter.until)];
  return {
    operationId: id,
    ...{ kind, status, filter: { ...filter, since, until }, reason, by, expected, changed, skipped, failed, failures },
    createdAt: toIso(createdAt),
    stoppedBy,
    endedAt: toIso(endedAt),
  };
};

/** By whoever started it. With `waitMs`, returns when it has ended, or after that time. */
export const awaitOperation = (
  deps: Deps,
  caller: Caller,
  id: string,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<Operation> => {
  const read = (): Promise<Operation> => getOperation(deps, caller, id);
  const { pk } = operationRef(caller.project, id);
  return waitUntil(deps, [pk], { waitMs, signal }, read, (operation) => !isRunning(operation));
};

export const getOperation = async (deps: Deps, caller: Caller, id: string): Promise<Operation> => {
  const operation = await deps.records.get(operationRef(caller.project, id));
  const isOwn = caller.role === 'admin' || caller.registered.agent.id === operation?.requester;
  if (operation && isOwn) return operation;
  throw operationNotFoundError(id);
};

export const operationNotFoundError = (id: string): ParleyError =>
  new ParleyError('not_found', `There is no operation ${id}.`);

export const toListedOperation = ({ createdAt, status, kind, requester }: Operation): ListedFields => ({
  createdAt,
  status,
  type: kind,
  requester,
});

interface OperationFilter {
  kind?: OperationKind | undefined;
  status?: readonly OperationStatus[] | undefined;
  since?: number | undefined;
  until?: number | undefined;
}

/** Agents see their own. */
export const buildOperationListQuery = (
  caller: Caller,
  { kind, status, since, until }: OperationFilter,
): ListQuery<Operation> => {
  const where = and(
    ...(kind === undefined ? [] : [equals('type', kind)]),
    ...(status ? [equalsAny('status', ...status)] : []),
    ...(caller.role === 'agent' ? [equals('requester', caller.registered.agent.id)] : []),
  );
  return { project: caller.project, kind: 'operation', toFields: toListedOperation, where, since, until };
};
