import { type Duration, toMs, toSeconds } from './duration.ts';
import { Emitter } from './emitter.ts';
import { Fail, ParleyError, Retry, TaskAborted } from './errors.ts';
import type { Json, JsonObject } from './json.ts';
import { type MessageGatherer, NATIVE } from './message-gatherer.ts';
import { isStandardSchema, parseWith, SchemaError, type StandardSchema } from './schema.ts';
import { type ClaimedTask, type Task, toTask } from './task.ts';
import { TaskContext } from './task-context.ts';
import { sleep, type Transport } from './transport.ts';
import { watchTasks } from './watch-tasks.ts';

export type Handler<Input, Output> = (task: Task<Input>, context: TaskContext) => Output | Promise<Output>;

export interface WorkerOptions {
  /** How many tasks run at the same time. */
  concurrency?: number;
  /** How long running handlers have to end when the worker stops. */
  drain?: Duration;
  /** How long a silent worker keeps a task. By default as the server says; it is renewed while the handler runs. */
  lease?: Duration;
  /** Which of several processes of one agent this is. */
  instance?: string;
}

export interface WorkerEvents {
  claimed: Task;
  completed: { task: Task; durationMs: number };
  failed: { task: Task; error: unknown; willRetry: boolean };
  /** The task was cancelled, or another worker has it: the handler's signal is aborted. */
  aborted: { task: Task; reason: TaskAborted['reason'] };
  /** Parley does not answer, or rejects the key; the worker goes on trying where that can help. */
  error: Error;
}

interface Registration {
  schema: StandardSchema | undefined;
  handler: Handler<never, unknown>;
}

interface Running {
  task: Task;
  abort: AbortController;
  done: Promise<void>;
}

/** One claim takes at most ten. */
const MAX_CLAIM = 10;
const CLAIM_WAIT_SECONDS = 20;
/** Full answers mean that there is more: as many claims are then made beside each other. */
const MAX_CLAIMS = 4;
const DRAIN: Duration = '30s';
/** A renewal may be late twice before the lease ends. */
const RENEWALS_PER_LEASE = 3;
/** Whoever runs longer is told of a cancellation at once; shorter handlers learn it with their report. */
const WATCH_AFTER_MS = 1000;

/** Claims tasks, runs a handler for each, and reports what comes of it. */
export class Worker extends Emitter<WorkerEvents> {
  readonly #transport: Transport;
  readonly #messages: MessageGatherer;
  readonly #options: Required<Pick<WorkerOptions, 'concurrency' | 'drain'>> & WorkerOptions;
  readonly #registrations = new Map<string, Registration>();
  readonly #running = new Map<string, Running>();
  readonly #claiming = new AbortController();
  readonly #abortedClaims = new Set<string>();
  #claims = 0;
  #maxClaims = 1;
  /** How many tasks the claims under way may bring. */
  #asked = 0;
  #wake: (() => void) | undefined;
  #stopped: Promise<void> | undefined;
  #watching: AbortController | undefined;

  constructor(transport: Transport, messages: MessageGatherer, options: WorkerOptions = {}) {
    super();
    this.#transport = transport;
    this.#messages = messages;
    this.#options = { concurrency: 8, drain: DRAIN, ...options };
  }

  /** What is done for a capability. `*` takes what has no handler of its own. */
  on<Input = Json, Output = unknown>(capability: string, handler: Handler<Input, Output>): this;
  on<Input, Output = unknown>(capability: string, input: StandardSchema<Input>, handler: Handler<Input, Output>): this;
  on(capability: string, second: unknown, third?: unknown): this {
    const [schema, handler] = isStandardSchema(second) && third ? [second, third] : [undefined, second];
    if (typeof handler !== 'function') throw new TypeError(`The handler of ${capability} must be a function.`);
    if (this.#registrations.has(capability)) throw new TypeError(`${capability} has a handler already.`);
    this.#registrations.set(capability, { schema, handler: handler as Handler<never, unknown> });
    return this;
  }

  /** Works until `stop`, or until SIGINT or SIGTERM. */
  async run({ signals = true }: { signals?: boolean } = {}): Promise<void> {
    if (this.#registrations.size === 0)
      throw new TypeError('A worker needs a handler: worker.on(capability, handler).');
    const stop = (): void => void this.stop();
    const process = signals ? getProcess() : undefined;
    for (const name of ['SIGINT', 'SIGTERM']) process?.once(name, stop);
    try {
      while (!this.#claiming.signal.aborted) {
        for (let free = this.#countFree(); free > 0 && this.#claims < this.#maxClaims; free = this.#countFree()) {
          this.#claim(Math.min(free, MAX_CLAIM));
        }
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      for (const name of ['SIGINT', 'SIGTERM']) process?.removeListener(name, stop);
    }
    await this.stop();
  }

  /** Claims no more, lets handlers end for as long as `drain` says, and gives back the tasks of the others. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#claiming.abort();
    this.#wake?.();
    const ended = Promise.all([...this.#running.values()].map(({ done }) => done));
    // A timer that goes on would keep the process alive.
    const hasEnded = new AbortController();
    const limit = sleep(toMs(this.#options.drain), hasEnded.signal).catch(() => {});
    await Promise.race([ended, limit]);
    hasEnded.abort();
    await Promise.all([...this.#running.values()].map((running) => this.#giveBack(running)));
    await Promise.all([...this.#abortedClaims].map((claimId) => this.#giveBackClaim(claimId)));
    this.#watching?.abort();
  }

  /** The server may have found tasks for a claim before it noticed that nobody waits for the answer. */
  async #giveBackClaim(claimId: string): Promise<void> {
    const body = { claimId, dialect: 'native', capabilities: [], domains: [] };
    const { tasks } = await this.#transport
      .call<{ tasks: ClaimedTask[] }>('POST', '/v1/claims', { body, retryForMs: 5000 })
      .catch((error) => {
        this.emit('error', error);
        return { tasks: [] };
      });
    await Promise.all(tasks.map(({ message, attempt }) => this.#release(message.id, attempt)));
  }

  async #giveBack({ task, abort }: Running): Promise<void> {
    abort.abort(new TaskAborted('stopping', task.id));
    await this.#release(task.id, task.attempt);
    this.#running.delete(task.id);
  }

  async #release(id: string, attempt: number): Promise<void> {
    await this.#transport
      .call('POST', `/v1/tasks/${encodeURIComponent(id)}/release`, { body: { attempt }, retryForMs: 5000 })
      .catch((error) => this.emit('error', error));
  }

  #countFree(): number {
    return this.#options.concurrency - this.#running.size - this.#asked;
  }

  /** Results travel with the claim, so that a busy worker makes one call for both. */
  async #claim(max: number): Promise<void> {
    this.#claims++;
    this.#asked += max;
    const { messages, settle, fail } = this.#messages.take();
    const body = {
      max,
      wait: CLAIM_WAIT_SECONDS,
      dialect: 'native',
      claimId: crypto.randomUUID(),
      ...(!this.#registrations.has('*') && { capabilities: [...this.#registrations.keys()] }),
      ...(this.#options.lease !== undefined && { lease: toSeconds(this.#options.lease) }),
      ...(this.#options.instance !== undefined && { instance: this.#options.instance }),
    };
    let settled = messages.length === 0;
    try {
      const found = await this.#callClaim({ ...body, ...(messages.length > 0 && { messages }) });
      settle(found.results ?? []);
      settled = true;
      this.#maxClaims = found.tasks.length === max ? Math.min(MAX_CLAIMS, this.#maxClaims + 1) : 1;
      for (const claimed of found.tasks) this.#start(claimed);
    } catch (error) {
      if (!settled) fail(error);
      if (this.#claiming.signal.aborted) this.#abortedClaims.add(body.claimId);
      await this.#afterClaimError(error);
    } finally {
      this.#claims--;
      this.#asked -= max;
      this.#wake?.();
    }
  }

  /** The first try keeps no receipt, which saves two writes. A repetition asks for the tasks of the lost answer. */
  async #callClaim(
    body: JsonObject,
  ): Promise<{ tasks: ClaimedTask[]; results?: { status: number; body: JsonObject }[] }> {
    const options = { headers: NATIVE, signal: this.#claiming.signal, waitMs: CLAIM_WAIT_SECONDS * 1000 };
    try {
      return await this.#transport.call('POST', '/v1/claims', {
        ...options,
        body: { ...body, receipt: false },
        retryForMs: 0,
      });
    } catch (error) {
      if (this.#claiming.signal.aborted || (error instanceof ParleyError && !isPassing(error))) throw error;
      this.emit('error', error as Error);
      return await this.#transport.call('POST', '/v1/claims', {
        ...options,
        body,
        retryForMs: Number.POSITIVE_INFINITY,
      });
    }
  }

  /** A wrong or ended key cannot get better; all else may. */
  async #afterClaimError(error: unknown): Promise<void> {
    if (this.#claiming.signal.aborted) return;
    this.emit('error', error as Error);
    if (error instanceof ParleyError && !isPassing(error)) this.stop();
    else await sleep(1000, this.#claiming.signal).catch(() => {});
  }

  #start(claimed: ClaimedTask): void {
    const task = toTask(claimed);
    const abort = new AbortController();
    const done = this.#handle(claimed, task, abort).finally(() => {
      if (this.#running.get(task.id)?.abort === abort) this.#running.delete(task.id);
      this.#wake?.();
    });
    this.#running.set(task.id, { task, abort, done });
    this.emit('claimed', task);
  }

  async #handle(claimed: ClaimedTask, task: Task, abort: AbortController): Promise<void> {
    const begun = performance.now();
    const keepAlive = this.#keepLease(claimed, task, abort);
    const aborted = new Promise<never>((_, reject) => {
      abort.signal.addEventListener('abort', () => reject(abort.signal.reason), { once: true });
    });
    try {
      const output = await Promise.race([this.#runHandler(claimed, task, abort), aborted]);
      keepAlive();
      await this.#report({ kind: 'result', taskId: task.id, attempt: task.attempt, output: (output ?? null) as Json });
      this.emit('completed', { task, durationMs: performance.now() - begun });
    } catch (error) {
      keepAlive();
      await this.#handleError(task, abort, error);
    }
  }

  async #runHandler(claimed: ClaimedTask, task: Task, abort: AbortController): Promise<unknown> {
    const registration = this.#registrations.get(task.capability) ?? this.#registrations.get('*');
    if (!registration) throw new Fail('skill_missing', `This worker has no handler for ${task.capability}.`);
    const { schema, handler } = registration;
    const input = schema ? await parseWith(schema, task.input, 'The input') : task.input;
    const context = new TaskContext(claimed, this.#transport, this.#messages, abort);
    return (handler as Handler<unknown, unknown>)({ ...task, input }, context);
  }

  async #handleError(task: Task, abort: AbortController, error: unknown): Promise<void> {
    const reason = abort.signal.aborted ? abort.signal.reason : error;
    if (reason instanceof TaskAborted) {
      this.emit('aborted', { task, reason: reason.reason });
      return;
    }
    if (isLost(error)) {
      this.emit('aborted', { task, reason: error.code === 'cancelled' ? 'cancelled' : 'lost' });
      return;
    }
    const failure = toFailure(error);
    this.emit('failed', { task, error, willRetry: failure.retryable === true });
    await this.#report({ kind: 'failure', taskId: task.id, attempt: task.attempt, ...failure }).catch((cause) => {
      if (!isLost(cause)) this.emit('error', cause);
    });
  }

  async #report(message: JsonObject): Promise<void> {
    const sent = this.#messages.send(message);
    this.#wake?.();
    await sent;
  }

  /** Renews the lease while the handler runs, and learns on the way whether the task is still its own. */
  #keepLease(claimed: ClaimedTask, task: Task, abort: AbortController): () => void {
    const leaseMs = Date.parse(claimed.lease.until) - Date.now() - this.#transport.clockOffsetMs;
    const renew = async (): Promise<void> => {
      try {
        const { attempt } = task;
        await this.#transport.call('POST', `/v1/tasks/${encodeURIComponent(task.id)}/renew`, {
          body: { attempt },
          signal: abort.signal,
        });
      } catch (error) {
        if (isLost(error)) this.#abortTask(task.id, error.code === 'cancelled' ? 'cancelled' : 'lost');
        else if (!abort.signal.aborted) this.emit('error', error as Error);
      }
    };
    const renewals = setInterval(renew, Math.max(1000, leaseMs / RENEWALS_PER_LEASE));
    const watch = setTimeout(() => this.#watch(), WATCH_AFTER_MS);
    return () => {
      clearInterval(renewals);
      clearTimeout(watch);
    };
  }

  /** One event stream for all handlers that run long. */
  #watch(): void {
    if (this.#watching && !this.#watching.signal.aborted) return;
    const watching = new AbortController();
    this.#watching = watching;
    watchTasks(this.#transport, watching.signal, {
      onCancelled: (id) => this.#abortTask(id, 'cancelled'),
      onReleased: (id, attempt) => {
        const running = this.#running.get(id);
        if (running && running.task.attempt <= attempt) this.#abortTask(id, 'lost');
      },
      isNeeded: () => this.#running.size > 0,
    })
      .catch((error) => {
        if (!watching.signal.aborted) this.emit('error', error);
      })
      .finally(() => watching.abort());
  }

  #abortTask(id: string, reason: TaskAborted['reason']): void {
    this.#running.get(id)?.abort.abort(new TaskAborted(reason, id));
  }
}

const isPassing = ({ status }: ParleyError): boolean => status === 429 || status >= 500;

const LOST_CODES = [
  'not_holder',
  'stale_attempt',
  'task_ended',
  'task_expired',
  'cancelled',
  'task_not_found',
  'task_waiting',
];

/** What the worker says about the task counts no more. */
const isLost = (error: unknown): error is ParleyError =>
  error instanceof ParleyError && LOST_CODES.includes(error.code);

const toFailure = (error: unknown): JsonObject => {
  if (error instanceof Retry) {
    const { code, message, afterMs, details } = error;
    return {
      code,
      message,
      retryable: true,
      ...(afterMs !== undefined && { retryAfterSeconds: afterMs / 1000 }),
      ...(details && { details }),
    };
  }
  if (error instanceof Fail) {
    const { code, message, details } = error;
    return { code, message, retryable: false, ...(details && { details }) };
  }
  if (error instanceof SchemaError) return { code: 'invalid_params', message: error.message, retryable: false };
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'internal_error', message: message.slice(0, 4000), retryable: true };
};

interface ProcessSignals {
  once(name: string, listener: () => void): unknown;
  removeListener(name: string, listener: () => void): unknown;
}

/** Browsers and edge runtimes have none. */
const getProcess = (): ProcessSignals | undefined => {
  const { process } = globalThis as { process?: Partial<ProcessSignals> };
  return process?.once && process.removeListener ? (process as ProcessSignals) : undefined;
};
