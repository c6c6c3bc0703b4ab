import type { Schemas } from './api/schemas.ts';
import { type Duration, toSeconds } from './duration.ts';
import { TaskFailed } from './errors.ts';
import type { Json } from './json.ts';
import { buildRequest, RequestHandle, type RequestOptions } from './request.ts';
import type { Transport } from './transport.ts';

export interface BatchItem extends RequestOptions {
  capability: string;
  input?: Json;
}

export interface BatchOptions {
  /** The same id again is the same batch. */
  id?: string;
  /** Ends the batch with the first task that is not completed. */
  failFast?: boolean;
  deadline?: Duration;
  signal?: AbortSignal;
}

/** As `Promise.allSettled` has it. */
export type Settled<T> = { status: 'fulfilled'; value: T } | { status: 'rejected'; reason: TaskFailed };

const WAIT_SECONDS = 20;

/** Many tasks with one result. */
export class BatchHandle<Output = Json> {
  readonly id: string;
  /** Resolves once the batch is on disk. */
  readonly accepted: Promise<unknown>;
  readonly #transport: Transport;

  constructor(transport: Transport, id: string, accepted: Promise<unknown> = Promise.resolve()) {
    this.#transport = transport;
    this.id = id;
    this.accepted = accepted;
    accepted.catch(() => {});
  }

  status({
    signal,
    waitSeconds,
  }: {
    signal?: AbortSignal | undefined;
    waitSeconds?: number;
  } = {}): Promise<Schemas['Batch']> {
    const path = `/v1/batches/${encodeURIComponent(this.id)}`;
    return this.#transport.call('GET', path, {
      query: { wait: waitSeconds },
      signal,
      waitMs: (waitSeconds ?? 0) * 1000,
    });
  }

  /** What became of each task, in their order, once all have ended. */
  async results({ signal }: { signal?: AbortSignal } = {}): Promise<Settled<Output>[]> {
    await this.accepted;
    for (;;) {
      const batch = await this.status({ signal, waitSeconds: WAIT_SECONDS });
      if (batch.status === 'open') continue;
      return Promise.all(batch.results.map((item) => this.#settle(item)));
    }
  }

  async #settle({ id, status, result, uri, error }: Schemas['Batch']['results'][number]): Promise<Settled<Output>> {
    if (status === 'completed') {
      const isElsewhere = uri !== undefined && result === undefined;
      const value = isElsewhere ? await this.#loadResult(id) : result;
      return { status: 'fulfilled', value: value as Output };
    }
    // The batch was over before it.
    const state = status === 'open' ? 'cancelled' : status;
    const { code = state, message = `The task ${id} is ${state}.` } = error ?? {};
    return { status: 'rejected', reason: new TaskFailed(id, state, code, message) };
  }

  #loadResult(id: string): Promise<Json> {
    return new RequestHandle<Json>(id, Promise.resolve({}), this.#transport).result();
  }
}

export const requestBatch = <Output>(
  transport: Transport,
  items: readonly BatchItem[],
  { id = crypto.randomUUID(), failFast, deadline, signal }: BatchOptions = {},
): BatchHandle<Output> => {
  const tasks = items.map(({ capability, input = {}, ...options }, index) => ({
    ...buildRequest(capability, input, { ...options, id: options.id ?? `${id}.${index}` }),
  }));
  const body = {
    batchId: id,
    tasks,
    ...(failFast !== undefined && { failFast }),
    ...(deadline !== undefined && { deadlineSeconds: toSeconds(deadline) }),
  };
  return new BatchHandle<Output>(transport, id, transport.call('POST', '/v1/batches', { body, signal }));
};
