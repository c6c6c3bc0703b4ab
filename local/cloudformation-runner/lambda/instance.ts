import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { RUNTIME_MB } from './instance-memory.ts';
import type { FromInstance, InstanceData, Invocation, InvocationAnswer } from './instance-messages.ts';

const MAIN = new URL('./instance-main.ts', import.meta.url);
/** Where this process has one: a quarter of the CPU of a cold start. */
const { NODE_COMPILE_CACHE } = process.env;
const COMPILE_CACHE = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };

/** V8 collects before the heap fills what the process may have. */
const YOUNG_GENERATION_MB = 16;

export interface InstanceOptions {
  data: InstanceData;
  env: Record<string, string>;
  log(text: string): void;
}

/**
 * A worker thread: own globals and variables, a third of a process's start time, can be terminated inside a loop, own
 * CPU count.
 */
export class LambdaInstance {
  readonly #worker: Worker;
  readonly loaded: Promise<void>;
  readonly #memoryMb: number;
  #isGone = false;
  #onAnswer: (answer: InvocationAnswer) => void = () => {};

  constructor({ data, env, log }: InstanceOptions) {
    this.#memoryMb = data.memoryMb;
    this.#worker = new Worker(MAIN, {
      env: { ...COMPILE_CACHE, ...env },
      workerData: data,
      name: data.functionName,
      // Flags of this process must not reach the function, which has those of its NODE_OPTIONS.
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: {
        maxOldGenerationSizeMb: data.memoryMb - RUNTIME_MB - YOUNG_GENERATION_MB,
        maxYoungGenerationSizeMb: YOUNG_GENERATION_MB,
      },
    });
    this.#worker.stdout.setEncoding('utf8').on('data', log);
    this.#worker.stderr.setEncoding('utf8').on('data', log);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.loaded = promise;
    this.#worker.on('message', (message: FromInstance) => (message === 'loaded' ? resolve() : this.#onAnswer(message)));
    this.#worker.once('error', (error) => this.#finish(error.name, error.message));
    this.#worker.once('exit', () => {
      this.#isGone = true;
      resolve();
      this.#finish('Runtime.ExitError', 'the runtime exited before it gave an answer');
    });
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  async run(invocation: Invocation, timeoutMs: number): Promise<InvocationAnswer> {
    const { promise, resolve } = Promise.withResolvers<InvocationAnswer>();
    this.#onAnswer = resolve;
    const timer = setTimeout(() => {
      this.#finish('Sandbox.Timedout', `Task timed out after ${(timeoutMs / 1000).toFixed(2)} seconds`);
      void this.end();
    }, timeoutMs);
    if (this.#isGone) this.#finish('Runtime.ExitError', 'the runtime exited before it was asked');
    this.#worker.postMessage(invocation);
    const answer = await promise;
    clearTimeout(timer);
    if (answer.memoryMb <= this.#memoryMb) return answer;
    await this.end();
    const errorMessage = `${answer.memoryMb} MB used of ${this.#memoryMb}: Runtime exited with error: signal: killed`;
    return { ...answer, outcome: { ok: false, errorType: 'Runtime.OutOfMemory', errorMessage, trace: [] } };
  }

  #finish(errorType: string, errorMessage: string): void {
    this.#onAnswer({ outcome: { ok: false, errorType, errorMessage, trace: [] }, cpuMs: 0, memoryMb: 0 });
  }

  async end(): Promise<void> {
    if (this.#isGone) return;
    this.#isGone = true;
    const exited = once(this.#worker, 'exit');
    await this.#worker.terminate();
    await exited.catch(() => {});
  }
}
