import { type Duration, toMs, toSeconds } from './duration.ts';
import { Emitter } from './emitter.ts';
import { type Encryption, isSealed, sealFor, unseal } from './encryption.ts';
import { Fail, ParleyError, TaskAborted } from './errors.ts';
import { toFailure, toRejectedResult } from './failure.ts';
import type { Json, JsonObject } from './json.ts';
import { isLost, LeaseKeeper } from './keep-leases.ts';
import { loadDependencies, loadInput } from './load-input.ts';
import { type MessageGatherer, NATIVE } from './message-gatherer.ts';
import { catchSignals } from './process-signals.ts';
import { isStandardSchema, parseWith, type StandardSchema } from './schema.ts';
import { type ClaimedTask, type Task, toTask } from './task.ts';
import { TaskContext } from './task-context.ts';
import { isPassing, sleep, type Transport } from './transport.ts';
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

export interface RunOptions {
  /** Stops on SIGINT and SIGTERM, as it does by default. */
  signals?: boolean;
  /** Stops once no task has come for so long. */
  idle?: Duration;
}

interface Registration {
  schema: StandardSchema | undefined;
  handler: Handler<never, unknown>;
}

interface Running {
  task: Task;
  abort: AbortController;
  begunAt: number;
  done: Promise<void>;
}

/** One claim takes at most ten. */
const MAX_CLAIM = 10;
const CLAIM_WAIT_SECONDS = 20;
/** Full answers mean that there is more: as many claims are then made beside each other. */
const MAX_CLAIMS = 4;
/** A claim that did not wait and found nothing. */
const EMPTY_PAUSE_MS = 2;
const DRAIN: Duration = '30s';
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
  readonly #leases: LeaseKeeper;
  readonly #encryption: Encryption | undefined;
  readonly #claims = new Set<Promise<void>>();
  #maxClaims = 1;
  /** The last claim found something, and so the next one may. */
  #isBusy = false;
  /** How many handlers run. A place is free before the result of its last task has arrived. */
  #working = 0;
  /** How many tasks the claims under way may bring. */
  #asked = 0;
  #wake: (() => void) | undefined;
  #stopped: Promise<void> | undefined;
  #watching: AbortController | undefined;
  #watchTimer: ReturnType<typeof setTimeout> | undefined;
  #idleSeconds: number | undefined;
  #rejection: ParleyError | undefined;

  constructor(
    transport: Transport,
    messages: MessageGatherer,
    options: WorkerOptions = {},
    encryption: Encryption | undefined = undefined,
  ) {
    super();
    this.#encryption = encryption;
    this.#transport = transport;
    this.#messages = messages;
    this.#options = { concurrency: 8, drain: DRAIN, ...options };
    this.#leases = new LeaseKeeper(transport, (error) => this.#handleCallError(error));
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

  /** Works until `stop`, or until SIGINT or SIGTERM. Rejects if Parley rejects the key, or what is claimed. */
  async run({ signals = true, idle }: RunOptions = {}): Promise<void> {
    this.#idleSeconds = idle === undefined ? undefined : Math.min(CLAIM_WAIT_SECONDS, toMs(idle) / 1000);
    if (this.#registrations.size === 0)
      throw new TypeError('A worker needs a handler: worker.on(capability, handler).');
    const release = signals ? catchSignals(() => void this.stop()) : undefined;
    const removeCarrier = this.#messages.addCarrier(() => {
      if (this.#isBusy && !this.#claiming.signal.aborted) this.#claimFree();
    });
    try {
      while (!this.#claiming.signal.aborted) {
        // Results that are about to be sent go with the next claim.
        const willCarry = this.#isBusy && this.#messages.isPending;
        if (!willCarry) this.#claimFree();
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      await this.stop();
    } finally {
      release?.();
      removeCarrier();
    }
    if (this.#rejection) throw this.#rejection;
  }

  /** As many tasks as there are places for. */
  #claimFree(): void {
    for (let free = this.#countFree(); free > 0 && this.#claims.size < this.#maxClaims; free = this.#countFree()) {
      const claim = this.#claim(Math.min(free, MAX_CLAIM)).finally(() => this.#claims.delete(claim));
      this.#claims.add(claim);
    }
  }

  /** Claims no more, lets handlers end for as long as `drain` says, and gives back the tasks of the others. */
  stop({ drain = this.#options.drain }: { drain?: Duration } = {}): Promise<void> {
    this.#stopped ??= this.#stop(toMs(drain));
    return this.#stopped;
  }

  async #stop(drainMs: number): Promise<void> {
    this.#claiming.abort();
    this.#wake?.();
    await Promise.all(this.#claims);
    const ended = Promise.all([...this.#running.values()].map(({ done }) => done));
    // A timer that goes on would keep the process alive.
    const hasEnded = new AbortController();
    const limit = sleep(drainMs, hasEnded.signal).catch(() => {});
    await Promise.race([ended, limit]);
    hasEnded.abort();
    await Promise.all([...this.#running.values()].map((running) => this.#giveBack(running)));
    await Promise.all([...this.#abortedClaims].map((claimId) => this.#giveBackClaim(claimId)));
    this.#watching?.abort();
    clearTimeout(this.#watchTimer);
  }

  /** The server may have found tasks for a claim before it noticed that nobody waits for the answer. */
  async #giveBackClaim(claimId: string): Promise<void> {
    const body = { claimId, dialect: 'native', capabilities: [], domains: [] };
    const { tasks } = await this.#transport
      .call<{ tasks: ClaimedTask[] }>('POST', '/v1/claims', { body, retryForMs: 5000 })
      .catch((error) => {
        this.#handleCallError(error);
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
      .catch((error) => {
        if (!isLost(error)) this.#handleCallError(error);
      });
  }

  #countFree(): number {
    return this.#options.concurrency - this.#working - this.#asked;
  }

  /**
   * Results travel with the claim, so that a busy worker makes one call for both. Such a claim does not wait, because whoever sent
   * the messages does.
   */
  async #claim(max: number): Promise<void> {
    this.#asked += max;
    const { messages, settle, putBack } = this.#messages.take(this.#isBusy ? undefined : 0);
    const body = {
      max,
      wait: messages.length > 0 ? 0 : (this.#idleSeconds ?? CLAIM_WAIT_SECONDS),
      dialect: 'native',
      claimId: crypto.randomUUID(),
      ...(!this.#registrations.has('*') && { capabilities: [...this.#registrations.keys()] }),
      ...(this.#options.lease !== undefined && { lease: toSeconds(this.#options.lease) }),
      ...(this.#options.instance !== undefined && { instance: this.#options.instance }),
    };
    try {
      const found = await this.#callClaim({ ...body, ...(messages.length > 0 && { messages }) });
      settle(found.results ?? []);
      this.#isBusy = found.tasks.length > 0;
      this.#maxClaims = found.tasks.length === max ? Math.min(MAX_CLAIMS, this.#maxClaims + 1) : 1;
      for (const claimed of found.tasks) this.#start(claimed);
      const isIdle = found.tasks.length === 0 && messages.length === 0 && this.#running.size === 0;
      if (this.#idleSeconds !== undefined && isIdle) this.stop();
      else if (found.tasks.length === 0 && messages.length === 0 && body.wait === 0)
        await sleep(EMPTY_PAUSE_MS, this.#claiming.signal).catch(() => {});
    } catch (error) {
      putBack();
      if (this.#claiming.signal.aborted) this.#abortedClaims.add(body.claimId);
      else if (messages.length === 0 || isPassing(error) || isUnauthorized(error)) await this.#afterClaimError(error);
    } finally {
      this.#asked -= max;
      queueMicrotask(() => this.#wake?.());
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
      if (this.#claiming.signal.aborted || !isPassing(error)) throw error;
      this.#handleCallError(error);
      return await this.#transport.call('POST', '/v1/claims', {
        ...options,
        body,
        retryForMs: Number.POSITIVE_INFINITY,
      });
    }
  }

  async #afterClaimError(error: unknown): Promise<void> {
    this.#handleCallError(error);
    if (isPassing(error)) await sleep(1000, this.#claiming.signal).catch(() => {});
    else if (error instanceof ParleyError) this.#reject(error);
  }

  #handleCallError(error: unknown): void {
    this.emit('error', error as Error);
    if (isUnauthorized(error)) this.#reject(error);
  }

  /** A wrong or ended key cannot get better. Whoever has it cannot say anything about its tasks any more. */
  #reject(error: ParleyError): void {
    this.#rejection ??= error;
    if (isUnauthorized(error)) for (const { task } of [...this.#running.values()]) this.#abortTask(task.id, 'lost');
    this.stop();
  }

  #start(claimed: ClaimedTask): void {
    const task = toTask(claimed);
    // A lease that ended unnoticed: the task is back, and the attempt before counts for nothing.
    this.#abortTask(task.id, 'lost');
    const abort = new AbortController();
    this.#working++;
    const done = this.#handle(claimed, task, abort).finally(() => {
      if (this.#running.get(task.id)?.abort === abort) this.#running.delete(task.id);
      this.#wake?.();
    });
    this.#running.set(task.id, { task, abort, begunAt: performance.now(), done });
    this.#scheduleWatch();
    this.emit('claimed', task);
  }

  async #handle(claimed: ClaimedTask, task: Task, abort: AbortController): Promise<void> {
    const begun = performance.now();
    const letGo = this.#leases.keep({
      id: task.id,
      attempt: task.attempt,
      leaseMs: this.#computeLeaseMs(claimed),
      abort: (reason) => abort.abort(new TaskAborted(reason, task.id)),
    });
    const aborted = new Promise<never>((_, reject) => {
      abort.signal.addEventListener('abort', () => reject(abort.signal.reason), { once: true });
    });
    try {
      const { message, error } = await Promise.race([this.#attempt(claimed, task, abort), aborted]).finally(() => {
        this.#working--;
      });
      const rejection = await Promise.race([this.#report(task, message, abort.signal), aborted]);
      if (rejection) this.emit('failed', { task, error: rejection, willRetry: false });
      else if (message.kind === 'result') this.emit('completed', { task, durationMs: performance.now() - begun });
      else this.emit('failed', { task, error, willRetry: message.retryable === true });
    } catch (error) {
      this.#handleLoss(task, error);
    } finally {
      letGo();
    }
  }

  /** What is to be said of the attempt: its result, or its failure. */
  async #attempt(
    claimed: ClaimedTask,
    task: Task,
    abort: AbortController,
  ): Promise<{ message: JsonObject; error?: unknown }> {
    try {
      return { message: await this.#runHandler(claimed, task, abort) };
    } catch (error) {
      if (abort.signal.aborted || isLost(error)) throw error;
      return { message: { kind: 'failure', ...toFailure(error) }, error };
    }
  }

  async #runHandler(claimed: ClaimedTask, task: Task, abort: AbortController): Promise<JsonObject> {
    const registration = this.#registrations.get(task.capability) ?? this.#registrations.get('*');
    if (!registration) throw new Fail('skill_missing', `This worker has no handler for ${task.capability}.`);
    const { schema, handler } = registration;
    const isPlain = task.dialect !== 'common-ground' && claimed.message.results === undefined;
    const sent = isPlain ? task.input : await loadInput(this.#transport, claimed);
    const isSecret = this.#encryption !== undefined && isSealed(sent);
    const raw = isSecret ? await unseal(this.#encryption, sent, task.from) : sent;
    const dependencies = isPlain ? {} : await loadDependencies(this.#transport, claimed);
    const input = schema ? await parseWith(schema, raw, 'The input') : raw;
    const context = new TaskContext(claimed, dependencies, this.#transport, this.#messages, abort);
    const output = await (handler as Handler<unknown, unknown>)({ ...task, input }, context);
    const said = (output ?? null) as Json;
    const sealed = isSecret ? await sealFor(this.#encryption, said, task.from) : said;
    return { kind: 'result', output: sealed, ...context.describeResult() };
  }

  #handleLoss(task: Task, error: unknown): void {
    if (error instanceof TaskAborted) this.emit('aborted', { task, reason: error.reason });
    else if (isLost(error)) {
      this.emit('aborted', { task, reason: error.code === 'cancelled' ? 'cancelled' : 'lost' });
    } else this.#handleCallError(error);
  }

  /**
   * Until it is accepted or the task is lost: what was done must not be done again only because the server was away. Returns why a
   * result was rejected; its task has failed then.
   */
  async #report(task: Task, said: JsonObject, signal: AbortSignal): Promise<ParleyError | undefined> {
    const message = { ...said, taskId: task.id, attempt: task.attempt };
    for (;;) {
      try {
        const sent = this.#messages.send(message);
        this.#wake?.();
        await sent;
        return undefined;
      } catch (error) {
        if (signal.aborted || isLost(error) || isUnauthorized(error)) throw error;
        this.emit('error', error as Error);
        if (isPassing(error)) continue;
        if (said.kind !== 'result' || !(error instanceof ParleyError)) throw error;
        await this.#report(task, { kind: 'failure', ...toRejectedResult(error) }, signal);
        return error;
      }
    }
  }

  #computeLeaseMs({ lease }: ClaimedTask): number {
    const leftMs = Date.parse(lease.until) - Date.now() - this.#transport.clockOffsetMs;
    const { lease: wanted } = this.#options;
    return wanted === undefined ? leftMs : Math.min(leftMs, toSeconds(wanted) * 1000);
  }

  #scheduleWatch(): void {
    this.#watchTimer ??= setTimeout(() => {
      this.#watchTimer = undefined;
      this.#watchWhereNeeded();
    }, WATCH_AFTER_MS);
  }

  /** One event stream for all handlers that run long. */
  #watchWhereNeeded(): void {
    const now = performance.now();
    const isNeeded = [...this.#running.values()].some(({ begunAt }) => now - begunAt >= WATCH_AFTER_MS);
    if (isNeeded && !this.#watching) this.#watch();
    if (this.#running.size > 0) this.#scheduleWatch();
    else this.#watching?.abort();
  }

  #watch(): void {
    const watching = new AbortController();
    this.#watching = watching;
    watchTasks(this.#transport, watching.signal, {
      onCancelled: (id) => this.#abortTask(id, 'cancelled'),
      onReleased: (id, attempt) => {
        const running = this.#running.get(id);
        if (running && running.task.attempt <= attempt) this.#abortTask(id, 'lost');
      },
      onOpen: () => this.#leases.renewAll(),
    })
      .catch((error) => {
        if (!watching.signal.aborted) this.#handleCallError(error);
      })
      .finally(() => {
        if (this.#watching === watching) this.#watching = undefined;
      });
  }

  #abortTask(id: string, reason: TaskAborted['reason']): void {
    this.#running.get(id)?.abort.abort(new TaskAborted(reason, id));
  }
}

const isUnauthorized = (error: unknown): error is ParleyError => error instanceof ParleyError && error.status === 401;
