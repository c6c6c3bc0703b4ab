import type { Schemas } from './api/schemas.ts';
import { type Duration, toMs, toSeconds } from './duration.ts';
import { type Encryption, unseal } from './encryption.ts';
import { TaskFailed } from './errors.ts';
import type { Evidence, Extensions } from './extensions.ts';
import type { Json, JsonObject } from './json.ts';
import type { Priority } from './task.ts';
import { sleep, type Transport } from './transport.ts';

/** How many tasks of a key run at once, and how many start in any stretch of so many seconds. */
export interface TaskLimit {
  key: string;
  concurrency?: number;
  rate?: { starts: number; seconds: number };
}

export interface RequestOptions {
  /** The same id again is the same task. */
  id?: string;
  /** The only agent that may do it. */
  to?: string;
  priority?: Priority;
  /** How long it may wait for a worker. */
  ttl?: Duration;
  conversation?: string;
  user?: string;
  parent?: string;
  /** Ids of tasks that must be completed first; their results come with the task. */
  dependencies?: string[];
  onFailure?: 'fail' | 'skip';
  /** The task waits while its keys have no place for it. */
  limits?: TaskLimit[];
  retry?: { maxAttempts?: number; backoff?: 'exponential' | 'linear' | 'fixed'; initial?: Duration };
  metadata?: JsonObject;
}

export interface SingleRequestOptions extends RequestOptions {
  /** Encrypts the input for the agent in `to`, with the `encryption` of `connect`. */
  encrypt?: boolean;
}

export const buildRequest = (capability: string, input: Json, options: RequestOptions & { id: string }): JsonObject => {
  const { ttl, retry, ...rest } = options;
  return {
    kind: 'request',
    capability,
    input,
    ...(rest as unknown as JsonObject),
    ...(ttl !== undefined && { ttlSeconds: toSeconds(ttl) }),
    ...(retry && {
      retry: {
        ...(retry.maxAttempts !== undefined && { maxAttempts: retry.maxAttempts }),
        ...(retry.backoff && { backoff: retry.backoff }),
        ...(retry.initial !== undefined && { initialMs: toMs(retry.initial) }),
      },
    }),
  };
};

/** How a completed task ended, whatever protocol its worker speaks. */
export interface Outcome<Output = Json> {
  output: Output;
  from: string;
  attempt: number;
  /** From 0 to 1. */
  confidence?: number;
  evidence?: Evidence;
  extensions?: Extensions;
  metadata?: JsonObject;
}

/** A task as its requester sees it. */
export interface TaskStatus {
  id: string;
  state:
    | 'waiting'
    | 'requested'
    | 'claimed'
    | 'in_progress'
    | 'input_required'
    | 'completed'
    | 'failed'
    | 'expired'
    | 'cancelled';
  result?: Json;
  error?: { code: string; message: string; details?: Json };
  /** Set while a limit has no place for the task. */
  waitsForLimit?: { key: string; reason: 'concurrency' | 'rate'; nextStartAt?: string };
  /** What its holder asks, in the state `input_required`. */
  input?: { prompt: string; schema?: JsonObject };
  progress?: { percent?: number; message?: string };
  attempt: number;
  [field: string]: unknown;
}

export interface ResultOptions {
  signal?: AbortSignal;
  /** Rejects with a `TimeoutError` after this time. The task goes on. */
  timeout?: Duration;
  /** Answers the questions of the holder. Without it, somebody else may. */
  onQuestion?: (question: { prompt: string; schema?: JsonObject }) => Json | Promise<Json>;
}

/** A question may be answered by somebody else, at any time. */
const ANSWER_CHECK_MS = [500, 1000, 2000, 5000];

/** A task that was requested. Nothing is lost if this object is: `parley.task(id)` makes another. */
export class RequestHandle<Output = Json> {
  readonly id: string;
  /** Resolves once the task is on disk. */
  readonly accepted: Promise<JsonObject>;
  readonly #transport: Transport;
  readonly #encryption: Encryption | undefined;

  constructor(id: string, accepted: Promise<JsonObject>, transport: Transport, encryption?: Encryption) {
    this.id = id;
    this.#encryption = encryption;
    this.accepted = accepted;
    this.#transport = transport;
    // Whoever only waits for the result learns it there.
    accepted.catch(() => {});
  }

  /** The result, as soon as there is one; otherwise a `TaskFailed`. */
  async result({ signal, timeout, onQuestion }: ResultOptions = {}): Promise<Output> {
    const limit = timeout === undefined ? undefined : AbortSignal.timeout(toMs(timeout));
    const stop = limit && signal ? AbortSignal.any([limit, signal]) : (limit ?? signal);
    await this.accepted;
    for (let asked = 0; ; ) {
      const task = await this.#transport.slots.use(stop, (waitSeconds) => this.status({ signal: stop, waitSeconds }));
      if (task.state === 'completed') return await this.#open(task);
      if (task.state === 'failed' || task.state === 'expired' || task.state === 'cancelled') {
        throw toTaskFailed(task, task.state);
      }
      if (task.state !== 'input_required') continue;
      if (onQuestion && task.input) await this.answer(await onQuestion(task.input));
      else await sleep(ANSWER_CHECK_MS[asked++] ?? 5000, stop);
    }
  }

  async #open({ result = null, metadata }: TaskStatus): Promise<Output> {
    const { agent = '' } = (metadata ?? {}) as { agent?: string };
    return (await unseal(this.#encryption, result, agent)) as Output;
  }

  /** The result with what came beside it: who gave it, how sure it is, its evidence, what only its protocol has words for. */
  async outcome<T = Output>(): Promise<Outcome<T>> {
    await this.result();
    const query = { dialect: 'native' };
    const outcome = await this.#transport.call<Outcome<T>>('GET', this.#path(), { query });
    const output = (await unseal(this.#encryption, outcome.output as Json, outcome.from)) as T;
    const { evidence } = outcome.extensions?.['agent-os'] ?? {};
    return { ...outcome, output, ...(evidence && { evidence }) };
  }

  async status(options: { signal?: AbortSignal | undefined; waitSeconds?: number } = {}): Promise<TaskStatus> {
    const { signal, waitSeconds } = options;
    await this.accepted;
    return this.#transport.call<TaskStatus>('GET', this.#path(), {
      query: { wait: waitSeconds },
      signal,
      waitMs: (waitSeconds ?? 0) * 1000,
    });
  }

  async cancel(): Promise<TaskStatus> {
    await this.accepted;
    return this.#transport.call<TaskStatus>('POST', this.#path('/cancel'));
  }

  /** Answers what the holder asks. */
  answer(input: Json): Promise<TaskStatus> {
    return this.#transport.call<TaskStatus>('POST', this.#path('/input'), { body: { input } });
  }

  /** The files that came with the result. */
  async artifacts(): Promise<Schemas['Artifacts']['artifacts']> {
    const { artifacts } = await this.#transport.call<Schemas['Artifacts']>('GET', this.#path('/artifacts'));
    return artifacts;
  }

  artifact(name: string): Promise<Uint8Array> {
    return this.#transport.download(this.#path(`/artifacts/${encodeURIComponent(name)}`));
  }

  /** Runs a failed or expired task once more. */
  retry(): Promise<TaskStatus> {
    return this.#transport.call<TaskStatus>('POST', this.#path('/retry'));
  }

  #path(rest = ''): string {
    return `/v1/tasks/${encodeURIComponent(this.id)}${rest}`;
  }
}

const toTaskFailed = ({ id, error }: TaskStatus, state: TaskFailed['status']): TaskFailed => {
  const { code = state, message = `The task ${id} is ${state}.`, details } = error ?? {};
  return new TaskFailed(id, state, code, message, details);
};
