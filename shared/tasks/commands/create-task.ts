import { getAuditDialect } from '../../dialects/is-audited.ts';
import { DIALECT_NAMES, getInboxMode } from '../../dialects/registry.ts';
import { type Agent, canServe, type InboxMode } from '../../identity/agents/agent.ts';
import { type Caller, findAgent } from '../../identity/auth/authenticate.ts';
import type { Deps } from '../../identity/deps.ts';
import { getLimitRules, resolveLimits, type TaskLimit } from '../../identity/limit-rules.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { assertMaxSize, type Json, type MeasuredJson } from '../../kernel/json/json.ts';
import { DAY_MS } from '../../kernel/retention.ts';
import { assertSameRequest } from '../../kernel/same-request.ts';
import { createChildSpan, findParentSpan, inheritTrace, type Trace } from '../../kernel/trace.ts';
import { batchEndedError, batchRef } from '../../model/batch.ts';
import type { TaskRequestCommand } from '../../model/command.ts';
import { limitedIndexKey } from '../../model/limit.ts';
import {
  type Task,
  taskRef,
  timeOrderedKey,
  toQueueKey,
  unacknowledgedKey,
  undeclaredListKey,
} from '../../model/task.ts';
import { toIso } from '../../ports/clock.ts';
import { equals } from '../../ports/conditions.ts';
import { getDomain } from '../../ports/queues.ts';
import type { Item, NewItem, TransactionWrite, WriteResult } from '../../ports/records.ts';
import {
  deleteOrphans,
  isStoredAsBlob,
  type StoredContent,
  storeContent,
  withBlobCleanup,
} from '../../storage/content.ts';
import { buildChildLinkWrites, type Lineage, resolveLineage } from '../dependencies/lineage.ts';
import {
  buildDependentLinkWrites,
  buildWaitingFields,
  findOpenDependencies,
} from '../dependencies/reconcile-dependencies.ts';
import { computeFirstCheckAt, inboxKey } from '../transitions/end-and-requeue.ts';
import { checkInput } from './capability-schemas.ts';
import { buildRememberedId } from './deduplicate.ts';
import { enqueueEagerly, toQueueShare } from './enqueue-task.ts';
import { type Destination, resolveDestination } from './resolve-destination.ts';

/** Writes of the same transaction, on which a task or a turn depends. */
export interface TransactionGuard {
  writes: TransactionWrite[];
  /** For the failed write with this index. */
  toError(at: number, current?: Item): ParleyError;
}

export interface CreateTaskResult {
  duplicate: boolean;
  /** As it was written; absent for a repetition. */
  task?: Task;
  /** Warnings about an accepted request. */
  notices?: string[];
}

/** The record exists once, so a repetition finds it. */
export const createTask = async (
  deps: Deps,
  caller: Caller,
  dialect: string,
  request: TaskRequestCommand,
  trace: Trace,
  guard?: TransactionGuard,
): Promise<CreateTaskResult> => {
  const { project } = caller;
  const asked = assertInputSize(deps, request);
  const brought =
    request.completed && assertMaxSize('The result', request.completed.output, deps.config.limits.outputBytes);
  const origin = brought ? DONE_BEFORE : await resolveRequest(deps, caller, request);
  if (origin instanceof Error) {
    // An accepted request stays accepted, even if its recipient is gone.
    const accepted = await deps.records.get(taskRef(project, request.taskId));
    if (accepted?.fingerprint === request.fingerprint) return { duplicate: true };
    throw origin;
  }
  // Large content is stored only if the task is new.
  const isLarge = isStoredAsBlob(asked) || (brought !== undefined && isStoredAsBlob(brought));
  const earlier = isLarge ? await deps.records.get(taskRef(project, request.taskId)) : undefined;
  if (earlier) return toDuplicateResult(earlier, request);
  const input = await storeContent(deps, project, request.taskId, asked);
  const output = brought && (await storeContent(deps, project, request.taskId, brought));
  const contents = [input, output];
  const requester = await findAgent(deps, project, request.from);
  const limits = resolveLimits({ ...request, domain: origin.destination.domain }, await getLimitRules(deps, project));
  const about = { project, dialect, request, input, trace, origin, requester: requester?.agent, limits };
  const open = buildTask(deps, about);
  const task = output ? toCompletedTask(open, output, deps.config.tasks.retentionMs) : await withTurn(deps, open);
  const created = await withBlobCleanup(deps.blobs, contents, async () => {
    // Without its short id, a task is handed out and can never be reported on: a crash in between must leave no task.
    await putShortIds(deps, task, request);
    return writeTask(deps, task, origin, guard);
  });
  if (created.outcome === 'written') {
    if (!created.replayed) await enqueueEagerly(deps, { after: created.after });
    return { duplicate: false, task: created.after, notices: buildNotices(request, origin.destination, task) };
  }
  const { existing } = created.outcome === 'refused' ? created : {};
  await deleteOrphans(deps.blobs, contents, [existing?.input, existing?.output]);
  return toDuplicateResult(created.existing, request);
};

/** Before it is stored: whoever sends its message later has to know it. */
const withTurn = async ({ config, queues }: Deps, task: NewItem<Task>): Promise<NewItem<Task>> => {
  const isQueued = task.status === 'requested' && task.notBefore === undefined && !task.deliveryTarget;
  if (!isQueued || !queues.assignTurn || config.tasks.fairness === 'none') return task;
  const { requester, conversation } = toQueueShare(task);
  const sharer = config.tasks.fairness === 'conversation' ? (conversation ?? requester) : requester;
  const turnAt = await queues.assignTurn(toQueueKey(task), { requester: sharer });
  return turnAt === undefined ? task : { ...task, turnAt };
};

const buildNotices = (
  { notices = [] }: TaskRequestCommand,
  { isCapabilityUndeclared, addressee }: Destination,
  task: NewItem<Task>,
): string[] | undefined => {
  const all = [
    ...notices,
    ...(isCapabilityUndeclared === true ? [formatUndeclaredNotice(task)] : []),
    ...(addressee && isForeign(addressee, task)
      ? [`The agent ${addressee.id} does not declare ${task.capability}.`]
      : []),
  ];
  return all.length > 0 ? all : undefined;
};

const formatUndeclaredNotice = ({ capability, deadline }: NewItem<Task>): string =>
  `No registered agent declares ${capability} or serves its domain: the task waits for one until ${toIso(deadline)}, and then expires.`;

/**
 * A warning for capabilities that the agent does not declare. Agents without declarations, and messages that name no
 * capability, get none.
 */
const isForeign = (agent: Agent, { capability, domain }: NewItem<Task>): boolean =>
  agent.capabilities.length > 0 &&
  !DIALECT_NAMES.some((name) => name === getDomain(capability)) &&
  !canServe({ agent }, { capability, domain });

const toDuplicateResult = (earlier: Item | undefined, request: TaskRequestCommand): { duplicate: boolean } => {
  assertSameRequest(earlier, request.fingerprint, `request with the id ${request.taskId}`);
  return { duplicate: true };
};

/** Checked before the instance could be gone for long. */
const buildInstanceTimer = ({ clock, config }: Deps, { instance }: Destination): { due?: number } =>
  instance === undefined ? {} : { due: clock.now() + config.agents.instanceMs };

export const assertInputSize = ({ config }: Deps, { input, extensions }: TaskRequestCommand): MeasuredJson<Json> => {
  const { inputBytes, extensionBytes } = config.limits;
  const asked = assertMaxSize('The input of the task', input, inputBytes);
  assertMaxSize('What the message carries beside it', extensions, extensionBytes);
  return asked;
};

/** In no queue before. */
const buildDelayFields = (startsAt: number, now: number): Partial<NewItem<Task>> =>
  startsAt > now ? { notBefore: startsAt, queueGeneration: 0, due: startsAt } : {};

/** A year. */
const MAX_DELAY_MS = 366 * DAY_MS;

const checkDelay = ({ clock }: Deps, { notBefore = 0 }: TaskRequestCommand): ParleyError | undefined =>
  notBefore - clock.now() > MAX_DELAY_MS
    ? new ParleyError('invalid_message', `The task would start at ${toIso(notBefore)}, in more than a year.`)
    : undefined;

interface ResolvedRequest {
  destination: Destination;
  lineage: Lineage;
  openDependencies: Task[];
}

/** Without routing and dependencies. */
const DONE_BEFORE: ResolvedRequest = { destination: {}, lineage: {}, openDependencies: [] };

/** In no queue and no inbox: its requester had the result before. */
const toCompletedTask = (open: NewItem<Task>, output: StoredContent, retentionMs: number): NewItem<Task> => ({
  ...open,
  status: 'completed',
  output,
  endedAt: open.createdAt,
  expires: open.createdAt + retentionMs,
  queueGeneration: 0,
  due: undefined,
  notBefore: undefined,
  byList: undefined,
  byHolder: undefined,
});

const resolveRequest = async (
  deps: Deps,
  caller: Caller,
  request: TaskRequestCommand,
): Promise<ResolvedRequest | ParleyError> => {
  const tooLate = checkDelay(deps, request);
  if (tooLate) return tooLate;
  const destination = await resolveDestination(deps, caller.project, request);
  if (destination instanceof Error) return destination;
  const misfit = destination.addressee && (await checkInput(destination.addressee, request.capability, request.input));
  if (misfit) return misfit;
  const lineage = await resolveLineage(deps, caller, request);
  if (lineage instanceof Error) return lineage;
  const awaited = request.dependencyIds ? await findOpenDependencies(deps, caller, request.dependencyIds) : [];
  return awaited instanceof Error ? awaited : { destination, lineage, openDependencies: awaited };
};

/** An existing short id is as good. */
const putShortIds = async (deps: Deps, task: NewItem<Task>, { sequenceInfo }: TaskRequestCommand): Promise<void> => {
  if (!sequenceInfo) return;
  const { buildRecipientShortId, buildRequesterShortId } = await import('../ids/short-ids.ts');
  const naming = { to: sequenceInfo.to, sentAt: sequenceInfo.at, now: task.createdAt };
  await Promise.all(
    [buildRequesterShortId, buildRecipientShortId].map((name) => deps.records.create(name(task, naming), deps.newId())),
  );
};

const writeTask = async (
  deps: Deps,
  task: NewItem<Task>,
  { lineage, openDependencies }: ResolvedRequest,
  guard?: TransactionGuard,
): Promise<WriteResult<Task> | { outcome: 'remembered'; existing?: Item | undefined }> => {
  const token = deps.newId();
  const at = deps.clock.now();
  const { parent } = lineage;
  const toParent = parent ? buildChildLinkWrites(parent, task.id, at) : [];
  // An ended batch stops its items, so it gets no more.
  const inBatch: TransactionWrite[] = task.batchMembership
    ? [{ kind: 'check', key: batchRef(task.project, task.batchMembership.batchId), if: equals('status', 'open') }]
    : [];
  const awaits = buildDependentLinkWrites(openDependencies, task.id, at);
  const remembered = buildRememberedId(deps, task);
  const memory: TransactionWrite[] = remembered ? [{ kind: 'create', item: { ...remembered } }] : [];
  const links = [...toParent, ...inBatch, ...awaits, ...(guard?.writes ?? []), ...memory];
  if (links.length === 0) return await deps.records.create<Task>(task, token);
  const linked = await deps.records.transact([{ kind: 'create', item: { ...task } }, ...links], token);
  if (linked.outcome === 'written') return { outcome: 'written', after: { ...task, v: 1, token, at } };
  const current = await deps.records.get(taskRef(task.project, task.id));
  if (current) return { outcome: 'refused', existing: current };
  if (remembered && linked.at === links.length) return { outcome: 'remembered', existing: linked.existing };
  if (linked.at <= toParent.length) {
    throw new ParleyError('cancelled', `The task ${parent?.id}, of which this one would be a part, was cancelled.`);
  }
  if (task.batchMembership && linked.at <= toParent.length + inBatch.length)
    throw batchEndedError(task.batchMembership.batchId);
  const guardAt = linked.at - 1 - toParent.length - inBatch.length - awaits.length;
  if (guard && guardAt >= 0) throw guard.toError(guardAt, linked.existing);
  throw new ParleyError('conflict', 'A task that this one would wait for is no longer kept. Try again.');
};

const toReportMode = (mode: InboxMode): Task['reportsToInbox'] =>
  mode === 'all' ? true : mode === 'progress' ? mode : undefined;

/** Found when somebody declares its capability. */
const buildUndeclaredKey = (
  isIt: Destination['isCapabilityUndeclared'],
  project: string,
  { capability, taskId }: TaskRequestCommand,
  now: number,
) => (isIt ? timeOrderedKey(undeclaredListKey(project, capability), now, taskId) : undefined);

interface NewTaskInput {
  project: string;
  dialect: string;
  request: TaskRequestCommand;
  input: StoredContent;
  trace: Trace;
  origin: ResolvedRequest;
  /** Absent if it is no longer registered. */
  requester: Agent | undefined;
  /** Those that it names, and those that it inherits. */
  limits: readonly TaskLimit[];
}

const buildTask = (
  deps: Deps,
  {
    project,
    dialect,
    request,
    input,
    trace,
    origin: {
      destination: { isCapabilityUndeclared, isReadInInbox, addressee: _known, ...route },
      lineage,
      openDependencies,
    },
    requester,
    limits: [limit],
  }: NewTaskInput,
): NewItem<Task> => {
  const now = deps.clock.now();
  const { maxAttempts } = deps.config.tasks;
  const startsAt = Math.max(now, request.notBefore ?? now);
  const deadline = startsAt + request.ttlSeconds * 1000;
  const acknowledgeBy = request.acknowledgeTimeoutMs && startsAt + request.acknowledgeTimeoutMs;
  const { parent } = lineage;
  const { sequenceInfo: sentAs } = request;
  const asked = request.trace ?? trace;
  const { traceparent, tracestate } = createChildSpan(inheritTrace(asked, parent));
  const fromNats = requester?.transport === 'nats' && !request.batchMembership ? true : undefined;
  const task: NewItem<Task> = {
    pk: taskRef(project, request.taskId).pk,
    sk: 'task',
    project,
    id: request.taskId,
    dialect,
    status: 'requested',
    priority: request.priority,
    from: request.from,
    capability: request.capability,
    parent: request.parent,
    fromInstance: request.fromInstance,
    conversation: request.conversation ?? parent?.conversation,
    user: request.user ?? parent?.user,
    requestId: request.requestId,
    dependencyIds: request.dependencyIds,
    onFailure: request.onFailure,
    batchMembership: request.batchMembership,
    graph: request.graph,
    rerunOf: request.rerunOf,
    createdAt: now,
    ttlSeconds: request.ttlSeconds,
    deadline,
    answerBy: request.boundsAnswer && deadline,
    queueGeneration: 1,
    queuedAt: now,
    requeueCount: 0,
    attempt: 0,
    maxAttempts: request.maxAttempts ?? maxAttempts,
    retry: request.retry,
    limits: request.limits,
    input,
    extensions: request.extensions,
    auditEntry: request.auditEntry,
    fingerprint: request.fingerprint,
    traceparent,
    tracestate,
    parentSpan: deps.config.tracing.endpoint && findParentSpan(asked, parent),
    baggage: request.baggage ?? request.trace?.baggage ?? trace.baggage ?? parent?.baggage,
    due: computeFirstCheckAt(now, Math.min(deadline, acknowledgeBy ?? deadline), deps.config.tasks),
    acknowledgeBy,
    byHolder:
      acknowledgeBy === undefined
        ? buildUndeclaredKey(isCapabilityUndeclared, project, request, now)
        : unacknowledgedKey(project, request.from, now, request.taskId),
    byList: inboxKey({ project, from: request.from, batchMembership: request.batchMembership, fromNats }),
    fromNats,
    hasPush: request.hasPush,
    requestedAs: isReadInInbox && sentAs ? { at: sentAs.at, sequence: sentAs.sequence } : undefined,
    reportsToInbox: requester && toReportMode(getInboxMode(requester)),
    delegationChain: lineage.delegationChain,
    requesterLogDialect: requester && !request.auditEntry ? getAuditDialect(deps.config, requester) : undefined,
    ...route,
    ...buildInstanceTimer(deps, route),
    ...buildDelayFields(startsAt, now),
    ...buildWaitingFields(openDependencies, now),
  };
  // Whoever makes room finds it there. Where it cannot be claimed yet, the claim that finds no place lists it.
  const isClaimable = task.status === 'requested' && task.notBefore === undefined && task.byHolder === undefined;
  return limit && isClaimable ? { ...task, byHolder: limitedIndexKey(task, limit.key) } : task;
};
