import type { JsonObject } from '../kernel/json/json.ts';
import type { ShownTask } from './api.ts';
import type { McpContext } from './context.ts';
import { buildInputRequests } from './elicitation.ts';
import { RPC_CODES } from './rpc-error.ts';
import { toErrorResult, toTaskResult } from './tools/content.ts';

const POLL_INTERVAL_MS = 1000;

/** What failed for want of an agent, or of time, has no result; what an agent failed at has one that says so. */
const hasOwnError = ({ state, error }: ShownTask): boolean =>
  state === 'failed' && error?.code !== 'no_provider' && error?.code !== 'internal';

const toStatus = (task: ShownTask): string => {
  switch (task.state) {
    case 'completed':
      return 'completed';
    case 'cancelled':
      return 'cancelled';
    case 'input_required':
      return 'input_required';
    case 'failed':
    case 'expired':
      return hasOwnError(task) ? 'completed' : 'failed';
    default:
      return 'working';
  }
};

const toStatusMessage = ({ state, progress }: ShownTask): string => {
  if (progress?.message !== undefined) return progress.message;
  return progress?.percent === undefined ? state : `${progress.percent} %`;
};

/** A task as the extension for tasks shows it, without what it ended with. */
export const toMcpTask = (task: ShownTask, { taskRetentionMs }: Pick<McpContext, 'taskRetentionMs'>): JsonObject => ({
  taskId: task.id,
  status: toStatus(task),
  statusMessage: toStatusMessage(task),
  createdAt: task.createdAt,
  lastUpdatedAt: task.progress?.at ?? task.history?.at(-1)?.at ?? task.createdAt,
  ttlMs: taskRetentionMs,
  pollIntervalMs: POLL_INTERVAL_MS,
});

/** The same with its result, error or question. */
export const toDetailedMcpTask = (task: ShownTask, context: Pick<McpContext, 'taskRetentionMs'>): JsonObject => {
  const shown = toMcpTask(task, context);
  switch (shown.status) {
    case 'completed':
      return { ...shown, result: { resultType: 'complete', ...toCallResult(task) } };
    case 'failed':
      return {
        ...shown,
        error: {
          code: RPC_CODES.internalError,
          message: describeError(task),
          data: { ...task.error, state: task.state },
        },
      };
    case 'input_required':
      return { ...shown, inputRequests: buildInputRequests(task) };
    default:
      return shown;
  }
};

const describeError = ({ state, error }: ShownTask): string => error?.message ?? `The task is ${state}.`;

/** What a call of a tool answers with once its task has ended. */
export const toCallResult = (task: ShownTask): JsonObject =>
  task.state === 'completed' ? toTaskResult(task) : toErrorResult(task.error?.code ?? task.state, describeError(task));
