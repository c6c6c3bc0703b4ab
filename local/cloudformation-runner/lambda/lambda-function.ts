import { randomUUID } from 'node:crypto';
import type { Meter } from '../gateway/meter.ts';
import type { ConcurrencyPool } from './concurrency-pool.ts';
import { type InstanceOptions, LambdaInstance } from './instance.ts';
import type { InvocationOutcome } from './instance-messages.ts';

interface FunctionOptions extends InstanceOptions {
  timeoutMs: number;
  /** Of the function itself where that is reserved, else what it shares with all others. Above it, Lambda throttles. */
  concurrency: ConcurrencyPool;
  meter: Meter;
  onFailure(line: string): void;
}

export type InvocationResult = InvocationOutcome | { ok: 'throttled' };

/** A burst waits here: a machine has fewer cores than a region. */
const MOST_INSTANCES = 64;
/** An instance that is free within this time answers sooner than a new one. */
const WORTH_WAITING_MS = 60;
/** More concurrent starts slow each other down. */
const MOST_STARTING = 2;

export class LambdaFunction {
  readonly name: string;
  readonly #options: FunctionOptions;
  readonly #idle: LambdaInstance[] = [];
  readonly #all = new Set<LambdaInstance>();
  readonly #waiting: ((instance: LambdaInstance | undefined) => void)[] = [];
  #starting = 0;
  #isStopped = false;

  constructor(options: FunctionOptions) {
    this.name = options.data.functionName;
    this.#options = options;
  }

  async invoke(event: unknown): Promise<InvocationResult> {
    const { timeoutMs, concurrency, meter, data } = this.#options;
    if (this.#isStopped || !concurrency.enter()) return { ok: 'throttled' };
    try {
      const instance = await this.#acquireInstance();
      if (!instance) return { ok: 'throttled' };
      // Lambda does not count the load against the function's timeout.
      await instance.loaded;
      const begun = performance.now();
      const requestId = randomUUID();
      const invocation = { requestId, event: JSON.stringify(event), deadline: Date.now() + timeoutMs };
      const { outcome, cpuMs, memoryMb } = await instance.run(invocation, timeoutMs);
      this.#release(instance);
      const durationMs = performance.now() - begun;
      meter.recordInvocation(this.name, data.memoryMb, { cpuMs, durationMs, memoryMb, hasFailed: !outcome.ok });
      if (!outcome.ok) this.#reportFailure(requestId, outcome);
      return outcome;
    } finally {
      concurrency.leave();
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const turnAway of this.#waiting.splice(0)) turnAway(undefined);
    await Promise.all([...this.#all].map((instance) => instance.end()));
  }

  #acquireInstance(): Promise<LambdaInstance | undefined> | LambdaInstance {
    const idle = this.#takeIdle();
    if (idle) return idle;
    const { promise, resolve } = Promise.withResolvers<LambdaInstance | undefined>();
    this.#waiting.push(resolve);
    if (this.#all.size === 0) this.#startOne();
    else setTimeout(() => this.#startOne(), WORTH_WAITING_MS).unref();
    return promise;
  }

  #takeIdle(): LambdaInstance | undefined {
    for (;;) {
      const instance = this.#idle.pop();
      if (!instance?.isGone) return instance;
      this.#all.delete(instance);
    }
  }

  #startOne(): void {
    const isEnough = this.#waiting.length === 0 || this.#all.size >= MOST_INSTANCES || this.#starting >= MOST_STARTING;
    if (isEnough || this.#isStopped) return;
    const instance = new LambdaInstance(this.#options);
    this.#all.add(instance);
    this.#starting += 1;
    void instance.loaded.then(() => {
      this.#starting -= 1;
      this.#startOne();
    });
    this.#serve(instance);
  }

  #serve(instance: LambdaInstance): void {
    const next = this.#waiting.shift();
    if (next) next(instance);
    else this.#idle.push(instance);
  }

  #release(instance: LambdaInstance): void {
    if (instance.isGone) {
      this.#all.delete(instance);
      this.#startOne();
    } else this.#serve(instance);
  }

  #reportFailure(requestId: string, { errorType, errorMessage, trace }: InvocationOutcome & { ok: false }): void {
    this.#options.log(`${JSON.stringify({ requestId, errorType, errorMessage, trace })}\n`);
    this.#options.onFailure(`${this.name} failed: ${errorType}: ${errorMessage}`);
  }
}
