import * as z from 'zod';
import type { Deps } from '../deps.ts';
import { dialectNamed } from '../dialects/dialects.ts';
import { encoderOf } from '../dialects/encoders.ts';
import { outcomeOf, questionOf } from '../inbox/delivery.ts';
import { iso } from '../json/iso.ts';
import type { JsonObject } from '../json/json.ts';
import { PRIORITIES } from '../ports/queues.ts';
import { shownArtifacts } from './artifacts.ts';
import { loaded } from './content.ts';
import { type HistoryEntry, story } from './history.ts';
import { linksOf } from './links.ts';
import { isOpen, STATUSES, type Status, type Task } from './task.ts';

const time = z.iso.datetime().optional();
const whatever = z.unknown();

/** With whatever its agent said beside. */
const failure = z.looseObject({
  code: z.string(),
  message: z.string(),
  recoverable: z.boolean(),
  details: whatever.optional(),
});

/** A task as a task-format response, with more of what Parley knows about it. */
export const TaskView = z.object({
  id: z.string(),
  status: z.enum(['pending', 'in_progress', 'input_required', 'completed', 'failed', 'cancelled']),
  result: whatever.optional(),
  artifacts: z.array(z.looseObject({ name: z.string(), type: z.string() })).optional(),
  input: whatever.optional().describe('what the agent asks, while the status is input_required'),
  error: failure.optional().describe('why it failed'),
  metadata: z.looseObject({
    startedAt: time,
    completedAt: time,
    duration_ms: z.number().optional(),
    agent: z.string().optional(),
    retryCount: z.number(),
  }),
  state: z.enum(STATUSES).describe("the task's state, finer than its status"),
  type: z.string(),
  payload: whatever.optional().describe('what was asked for'),
  domain: z.string().optional(),
  priority: z.enum(PRIORITIES),
  dialect: z.string(),
  from: z.string(),
  to: z.string().optional(),
  conversationId: z.string().optional(),
  parentTaskId: z.string().optional(),
  waitsFor: z.array(z.string()).optional().describe('the tasks that must be completed before it is queued'),
  subtasks: z.array(z.string()).optional().describe('the ids of the first hundred'),
  createdAt: z.iso.datetime(),
  expiresAt: time.describe('when it expires unless it is claimed'),
  retryAt: time.describe('when a failed attempt is repeated'),
  lastError: failure.optional().describe('why the last attempt failed, where the task has not'),
  attempt: z.number(),
  maxAttempts: z.number(),
  lease: z.object({ until: z.iso.datetime() }).optional(),
  claim: whatever.optional().describe('what the agent said on claiming'),
  progress: whatever.optional(),
  deadLettered: z.boolean().describe('failed for good: nothing happens until somebody retries it'),
  traceparent: z.string(),
  history: z.array(z.looseObject({ at: z.iso.datetime(), event: z.string() })).optional(),
});
export type TaskView = z.output<typeof TaskView>;

const RESPONSE_STATUS: Record<Status, TaskView['status']> = {
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

export const viewOf = (task: Task): TaskView => ({
  id: task.id,
  status: RESPONSE_STATUS[task.status],
  error: RESPONSE_STATUS[task.status] === 'failed' ? errorOf(task) : undefined,
  input: task.prompt,
  metadata: {
    startedAt: iso(task.claimedAt),
    completedAt: iso(task.endedAt),
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
  parentTaskId: task.parent,
  waitsFor: task.waitsFor,
  createdAt: iso(task.createdAt),
  expiresAt: task.status === 'requested' ? iso(task.deadline) : undefined,
  retryAt: iso(task.notBefore),
  lastError: RESPONSE_STATUS[task.status] === 'failed' ? undefined : errorOf(task),
  attempt: task.attempt,
  maxAttempts: task.maxAttempts,
  lease: task.leaseUntil === undefined ? undefined : { until: iso(task.leaseUntil) },
  claim: task.claimNote,
  progress: progressOf(task),
  deadLettered: task.status === 'failed',
  traceparent: task.traceparent,
});

const progressOf = ({ progress }: Task): object | undefined => {
  if (!progress) return undefined;
  const { carried: _carried, told: _told, ...shown } = progress;
  return { ...shown, at: iso(progress.at) };
};

const errorOf = (task: Task): TaskView['error'] => {
  if (task.status === 'expired') {
    return { code: 'timeout', message: `Nobody claimed the task within ${task.ttlSeconds} s.`, recoverable: true };
  }
  return (
    task.error && {
      code: task.error.code,
      message: task.error.message,
      recoverable: task.error.retryable,
      details: task.error.details,
    }
  );
};

/** The task with its result and its story. */
export const fullView = async (deps: Deps, task: Task, entries: HistoryEntry[]): Promise<TaskView> => {
  const { project, id, input, output, artifacts: files } = task;
  const [payload, result, artifacts, subtasks] = await Promise.all([
    loaded(deps.blobs, project, input),
    output && loaded(deps.blobs, project, output),
    files && shownArtifacts(deps.blobs, project, id, files),
    task.children === undefined ? undefined : childrenOf(deps, task),
  ]);
  const history = story(task, entries).map((line) => ({ ...line, at: iso(line.at) }));
  return Object.assign(viewOf(task), { payload, artifacts, result, subtasks, history });
};

const childrenOf = async (deps: Deps, task: Task): Promise<string[]> =>
  (await linksOf(deps.records, task.pk, 'child')).map(({ taskId }) => taskId);

/** The newest message about the task, as an agent of the dialect would have sent it. */
export const inDialect = async (deps: Deps, task: Task, name: string): Promise<JsonObject> => {
  const encoder = encoderOf(dialectNamed(name));
  if (!isOpen(task)) {
    const { project, id, output, artifacts } = task;
    return encoder.encodeOutcome(
      outcomeOf(task, task.from),
      output && (await loaded(deps.blobs, project, output)),
      await shownArtifacts(deps.blobs, project, id, artifacts),
    );
  }
  if (task.status === 'input_required') return encoder.encodeOutcome(questionOf(task), undefined, undefined);
  return task.status === 'requested' || task.status === 'waiting'
    ? encoder.encodeRequest(task, await loaded(deps.blobs, task.project, task.input))
    : encoder.encodeReport(task);
};
