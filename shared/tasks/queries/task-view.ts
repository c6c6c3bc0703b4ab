import * as z from 'zod';
import { getEncoder } from '../../dialects/encoder-registry.ts';
import { getDialect } from '../../dialects/registry.ts';
import type { Deps } from '../../identity/deps.ts';
import { findQueuePause, getPausedQueues, type PausedQueues } from '../../identity/queue-pauses.ts';
import { awaitAll } from '../../kernel/concurrency.ts';
import type { JsonObject } from '../../kernel/json/json.ts';
import { pickTraceFields } from '../../kernel/trace.ts';
import { buildOutcome, buildQuestion, formatExpiry } from '../../model/delivery.ts';
import { buildTimeline, type HistoryEntry } from '../../model/history.ts';
import type { LimitBlock } from '../../model/limit.ts';
import { isOpen, TASK_STATUSES, type Task, type TaskStatus, toQueueKey } from '../../model/task.ts';
import { toIso } from '../../ports/clock.ts';
import { PRIORITIES } from '../../ports/queues.ts';
import { loadContent } from '../../storage/content.ts';
import { loadArtifactViews } from '../artifacts.ts';
import { listLinks } from '../dependencies/link-fanout.ts';
import { findBlocks } from '../limits/limit-states.ts';

const time = z.iso.datetime().optional();
const anyValue = z.unknown();

const ErrorView = z
  .looseObject({
    code: z.string(),
    message: z.string(),
    recoverable: z.boolean(),
    details: anyValue.optional(),
  })
  .meta({ id: 'TaskError' });

const PausedQueueView = z
  .object({ id: z.string(), by: z.string(), reason: z.string().optional(), since: z.iso.datetime() })
  .meta({ id: 'PausedQueue' });

/** Why nobody is handed the task. */
export const toPausedQueueView = (paused: PausedQueues, task: Task): z.output<typeof PausedQueueView> | undefined => {
  const pause = task.status === 'requested' ? findQueuePause(paused, toQueueKey(task)) : undefined;
  return pause && { id: pause.queue, by: pause.by, reason: pause.reason, since: toIso(pause.since) };
};

const LimitBlockView = z
  .object({
    key: z.string(),
    reason: z.enum(['concurrency', 'rate']),
    concurrency: z.number().int().optional(),
    running: z.number().int().optional(),
    rate: z.object({ starts: z.number().int(), seconds: z.number().int() }).optional(),
    nextStartAt: z.iso.datetime().optional(),
  })
  .meta({ id: 'LimitBlock' });

export const toLimitBlockView = (block: LimitBlock | undefined): z.output<typeof LimitBlockView> | undefined =>
  block && { ...block, nextStartAt: toIso(block.nextStartAt) };

/** A Task Format response with more fields. */
export const TaskView = z
  .object({
    id: z.string(),
    status: z.enum(['pending', 'in_progress', 'input_required', 'completed', 'failed', 'cancelled']),
    result: anyValue.optional(),
    artifacts: z.array(z.looseObject({ name: z.string(), type: z.string() })).optional(),
    input: anyValue.optional().describe('the question of the agent, while the status is `input_required`'),
    error: ErrorView.optional().describe('the reason of the failure'),
    metadata: z.looseObject({
      startedAt: time,
      completedAt: time,
      duration_ms: z.number().optional(),
      agent: z.string().optional(),
      retryCount: z.number(),
    }),
    state: z.enum(TASK_STATUSES).describe('more precise than `status`'),
    type: z.string(),
    payload: anyValue.optional().describe('the input of the task'),
    domain: z.string().optional(),
    priority: z.enum(PRIORITIES),
    dialect: z.string(),
    from: z.string(),
    to: z.string().optional(),
    conversationId: z.string().optional(),
    user: z.string().optional(),
    parentTaskId: z.string().optional(),
    graphId: z.string().optional().describe('the graph that the task belongs to'),
    dependencies: z.array(z.string()).optional().describe('the dependencies that are not completed yet'),
    subtasks: z.array(z.string()).optional().describe('the ids of the first 100 subtasks'),
    createdAt: z.iso.datetime(),
    expiresAt: time.describe('the end of its time to live'),
    notBefore: time.describe('the time of its start'),
    retryAt: time.describe('the time of the next attempt'),
    lastError: ErrorView.optional().describe('the error of the last attempt, while the task is open'),
    attempt: z.number(),
    maxAttempts: z.number(),
    lease: z.object({ until: z.iso.datetime() }).optional(),
    claim: anyValue.optional().describe('the message of the agent that claimed it'),
    progress: anyValue.optional(),
    cancelledBy: z.string().optional().describe('who cancelled it; `parley` if a graph skipped it'),
    rerunOf: z.string().optional().describe('the ended task that this one runs again'),
    rerunAs: z.string().optional().describe('the last task that runs this one again'),
    cancelReason: z.string().optional(),
    retryReason: z.string().optional().describe('of the last retry by hand'),
    operationId: z.string().optional().describe('the bulk operation that cancelled or retried it last'),
    pausedQueue: PausedQueueView.optional().describe('set while the task waits in a queue that is paused'),
    limits: z
      .array(z.looseObject({ key: z.string() }))
      .optional()
      .describe('the limits that it names'),
    waitsForLimit: LimitBlockView.optional().describe('set while a limit has no place for the task'),
    deadLettered: z.boolean().describe('whether the task is a dead letter'),
    traceparent: z.string(),
    tracestate: z.string().optional(),
    baggage: z.string().optional(),
    history: z.array(z.looseObject({ at: z.iso.datetime(), event: z.string() })).optional(),
  })
  .meta({ id: 'Task' });
export type TaskView = z.output<typeof TaskView>;

const RESPONSE_STATUS: Record<TaskStatus, TaskView['status']> = {
  waiting: 'pending',
  requested: 'pending',
  claimed: 'in_progress',
  in_progress: 'in_progress',
  input_required: 'input_required',
  completed: 'completed',
  failed: 'failed',
  expired: 'failed',
  cancelled: 'cancelled',
};

/** A claimed task is pending, if the holder says so. */
const toResponseStatus = ({ status, claimNote, hasAsked }: Task): TaskView['status'] =>
  status === 'claimed' && claimNote?.status === 'pending' && !hasAsked ? 'pending' : RESPONSE_STATUS[status];

/** By its time to live. */
const getExpiry = (task: Task): number | undefined => {
  if (!isOpen(task)) return undefined;
  return task.status === 'requested' ? task.deadline : task.answerBy;
};

export const toTaskView = (task: Task): TaskView => ({
  id: task.id,
  status: toResponseStatus(task),
  error: RESPONSE_STATUS[task.status] === 'failed' ? toErrorView(task) : undefined,
  input: task.prompt,
  metadata: {
    startedAt: toIso(task.claimedAt),
    completedAt: toIso(task.endedAt),
    duration_ms: task.endedAt === undefined || task.claimedAt === undefined ? undefined : task.endedAt - task.claimedAt,
    agent: task.holder,
    retryCount: Math.max(0, task.attempt - 1),
  },
  state: task.status,
  type: task.capability,
  domain: task.domain,
  priority: task.priority,
  dialect: task.dialect,
  from: task.from,
  to: task.to,
  conversationId: task.conversation,
  user: task.user,
  parentTaskId: task.parent,
  graphId: task.graph,
  dependencies: task.dependencyIds,
  createdAt: toIso(task.createdAt),
  expiresAt: toIso(getExpiry(task)),
  notBefore: task.attempt === 0 ? toIso(task.notBefore) : undefined,
  retryAt: task.attempt === 0 ? undefined : toIso(task.notBefore),
  lastError: RESPONSE_STATUS[task.status] === 'failed' ? undefined : toErrorView(task),
  attempt: task.attempt,
  maxAttempts: task.maxAttempts,
  lease: task.leaseUntil === undefined ? undefined : { until: toIso(task.leaseUntil) },
  claim: task.claimNote,
  progress: toProgressView(task),
  cancelledBy: task.cancelledBy,
  rerunOf: task.rerunOf,
  rerunAs: task.rerunAs,
  cancelReason: task.cancelReason,
  retryReason: task.retryReason,
  operationId: task.operationId,
  limits: task.limits?.map((limit) => ({ ...limit })),
  deadLettered: task.status === 'failed' || task.status === 'expired',
  ...pickTraceFields(task),
});

const toProgressView = ({ progress }: Task): object | undefined => {
  if (!progress) return undefined;
  const { extensions: _carried, auditEntry: _told, ...shown } = progress;
  return { ...shown, at: toIso(progress.at) };
};

const toErrorView = (task: Task): TaskView['error'] => {
  if (task.status === 'expired') {
    return { code: 'timeout', message: formatExpiry(task), recoverable: true };
  }
  return (
    task.error && {
      code: task.error.code,
      message: task.error.message,
      recoverable: task.error.recoverable ?? task.error.retryable,
      details: task.error.details,
    }
  );
};

/** The task with its result and timeline. */
export const loadTaskView = async (deps: Deps, task: Task, entries: HistoryEntry[]): Promise<TaskView> => {
  const { project, id, input, output, artifacts: files } = task;
  const [payload, result, artifacts, subtasks] = await awaitAll([
    loadContent(deps.blobs, project, input),
    output && loadContent(deps.blobs, project, output),
    files && loadArtifactViews(deps.blobs, project, id, files),
    task.childCount === undefined ? undefined : listChildIds(deps, task),
  ]);
  const history = buildTimeline(task, entries).map((line) => ({ ...line, at: toIso(line.at) }));
  const pausedQueue = toPausedQueueView(await getPausedQueues(deps, project), task);
  const waitsForLimit = toLimitBlockView((await findBlocks(deps, project, [task])).get(id));
  return Object.assign(toTaskView(task), { pausedQueue, waitsForLimit, payload, artifacts, result, subtasks, history });
};

const listChildIds = async (deps: Deps, task: Task): Promise<string[]> =>
  (await listLinks(deps.records, task.pk, 'child')).map(({ taskId }) => taskId);

/** In the given dialect. */
export const encodeTask = async (deps: Deps, task: Task, name: string): Promise<JsonObject> => {
  const encoder = getEncoder(getDialect(name));
  if (!isOpen(task)) {
    const { project, id, output, artifacts } = task;
    return encoder.encodeOutcome(
      buildOutcome(task, task.from),
      output && (await loadContent(deps.blobs, project, output)),
      await loadArtifactViews(deps.blobs, project, id, artifacts),
    );
  }
  if (task.status === 'input_required') return encoder.encodeOutcome(buildQuestion(task), undefined, undefined);
  return task.status === 'requested' || task.status === 'waiting'
    ? encoder.encodeRequest(task, await loadContent(deps.blobs, task.project, task.input))
    : encoder.encodeReport(task);
};
