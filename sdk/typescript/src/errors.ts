import { type Duration, toMs } from './duration.ts';
import type { Json, JsonObject } from './json.ts';

/** A request that Parley rejected. `code` never changes its meaning. */
export class ParleyError extends Error {
  readonly code: string;
  readonly status: number;
  /** Whether the same request can succeed later. */
  readonly retryable: boolean;
  readonly issues: readonly { path: string; message: string }[];
  /** The whole problem document. */
  readonly problem: JsonObject;

  constructor(status: number, problem: JsonObject) {
    const code = typeof problem.code === 'string' ? problem.code : 'unknown';
    super(typeof problem.detail === 'string' ? problem.detail : `Parley answered ${status}.`);
    this.name = 'ParleyError';
    this.code = code;
    this.status = status;
    this.retryable = problem.retryable === true;
    this.issues = Array.isArray(problem.issues) ? (problem.issues as { path: string; message: string }[]) : [];
    this.problem = problem;
  }
}

/** Parley could not be reached, or gave no usable answer, for as long as the call was repeated. */
export class ConnectionError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'ConnectionError';
  }
}

/** Thrown by a handler: the attempt failed, and the next one may succeed. */
export class Retry extends Error {
  readonly code: string;
  readonly afterMs: number | undefined;
  readonly details: JsonObject | undefined;

  constructor(code: string, options: { message?: string; after?: Duration; details?: JsonObject } = {}) {
    super(options.message ?? code);
    this.name = 'Retry';
    this.code = code;
    this.afterMs = options.after === undefined ? undefined : toMs(options.after);
    this.details = options.details;
  }
}

/** Thrown by a handler: the task failed for good. */
export class Fail extends Error {
  readonly code: string;
  readonly details: JsonObject | undefined;

  constructor(code: string, message = code, details?: JsonObject) {
    super(message);
    this.name = 'Fail';
    this.code = code;
    this.details = details;
  }
}

/** Why `ctx.signal` is aborted. Nothing that the handler still does for the task counts. */
export class TaskAborted extends Error {
  readonly reason: 'cancelled' | 'lost' | 'stopping' | 'suspended';

  constructor(reason: TaskAborted['reason'], taskId: string) {
    super(`The task ${taskId} is ${ABORT_TEXTS[reason]}.`);
    this.name = 'TaskAborted';
    this.reason = reason;
  }
}

const ABORT_TEXTS: Record<TaskAborted['reason'], string> = {
  cancelled: 'cancelled',
  lost: "no longer this worker's",
  stopping: 'given back, because the worker stops',
  suspended: 'waiting for an answer',
};

/** How a requested task ended, if not with a result. */
export class TaskFailed extends Error {
  readonly taskId: string;
  readonly status: 'failed' | 'expired' | 'cancelled';
  readonly code: string;
  readonly details: Json | undefined;

  constructor(taskId: string, status: TaskFailed['status'], code: string, message: string, details?: Json) {
    super(message);
    this.name = 'TaskFailed';
    this.taskId = taskId;
    this.status = status;
    this.code = code;
    this.details = details;
  }
}
