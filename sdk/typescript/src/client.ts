import { type Api, createApi } from './api/api.ts';
import type { Schemas } from './api/schemas.ts';
import { BatchHandle, type BatchItem, type BatchOptions, requestBatch } from './batch.ts';
import { consumeEvents } from './consume.ts';
import { type Duration, toMs, toSeconds } from './duration.ts';
import { type Encryption, sealFor } from './encryption.ts';
import { GraphHandle, type GraphNode, type GraphOptions, requestGraph } from './graph.ts';
import type { Json, JsonObject } from './json.ts';
import { MessageGatherer, NATIVE } from './message-gatherer.ts';
import { buildRequest, RequestHandle, type SingleRequestOptions } from './request.ts';
import { createCallSigner, type Signing } from './sign-calls.ts';
import { readEvents } from './sse.ts';
import { type CallOptions, type ConnectionEvents, type RetryNotice, Transport } from './transport.ts';
import { parseAgentKey } from './turns/turn-calls.ts';
import { callAgent, TurnHandle, type TurnOptions } from './turns/turn-handle.ts';
import { type TurnHandler, TurnWorker, type TurnWorkerOptions } from './turns/turn-worker.ts';
import { Worker, type WorkerOptions } from './worker.ts';

export interface ConnectOptions {
  /** By default `PARLEY_URL`. */
  url?: string;
  /** By default `PARLEY_KEY`. */
  key?: string;
  /** For how long a call is repeated while Parley does not answer; one minute by default. */
  retryFor?: Duration;
  fetch?: typeof globalThis.fetch;
  headers?: Record<string, string>;
  onRetry?: (retry: RetryNotice) => void;
  /** Signs every call that changes something, for an agent whose registration asks for it. */
  signing?: Signing;
  /** Encrypts inputs and results between agents that share keys; Parley sees only what comes out of it. */
  encryption?: Encryption;
}

export interface ParleyEvent {
  id: string;
  type: string;
  at: number;
  data: JsonObject;
}

const INBOX_WAIT_SECONDS = 20;
const INBOX_PAGE = 50;

/** A message of the inbox, in the native dialect. */
export interface InboxMessage {
  kind: 'result' | 'failure' | 'question' | 'answer' | 'request' | 'message' | 'progress' | 'claim';
  id: string;
  from: string;
  taskId?: string;
  [field: string]: unknown;
}

export interface SendOptions {
  id?: string;
  type?: string;
  priority?: 'critical' | 'high' | 'normal' | 'low';
  ttl?: Duration;
  correlation?: string;
  metadata?: JsonObject;
}

/** One agent's connection, or an administrator's. */
export class Parley {
  readonly url: string;
  readonly #transport: Transport;
  readonly #messages: MessageGatherer;
  readonly #key: string;
  readonly #encryption: Encryption | undefined;
  #api: Api | undefined;

  constructor(options: Required<Pick<ConnectOptions, 'url' | 'key'>> & ConnectOptions) {
    const { url, key, retryFor = '1m', fetch, headers, onRetry, signing, encryption } = options;
    const signCall = signing && createCallSigner(signing);
    this.#transport = new Transport({ url, key, fetch, headers, onRetry, signCall, retryForMs: toMs(retryFor) });
    this.#encryption = encryption;
    this.#messages = new MessageGatherer(this.#transport);
    this.url = this.#transport.url;
    this.#key = key;
  }

  /** Tells what the connection goes through. Returns a function that removes the listener. */
  when<Name extends keyof ConnectionEvents>(name: Name, listener: (event: ConnectionEvents[Name]) => void): () => void {
    return this.#transport.when(name, listener);
  }

  worker(options?: WorkerOptions): Worker {
    return new Worker(this.#transport, this.#messages, options, this.#encryption);
  }

  /** Requests a task. It is durable once `accepted` resolves; `result()` waits for its end. */
  request<Output = Json>(
    capability: string,
    input: Json = {},
    options: SingleRequestOptions = {},
  ): RequestHandle<Output> {
    const { encrypt = false, id = crypto.randomUUID(), ...more } = options;
    const send = (content: Json): Promise<JsonObject> =>
      this.#messages.send(buildRequest(capability, content, { ...more, id }));
    const accepted = encrypt ? sealFor(this.#encryption, input, options.to).then(send) : send(input);
    return new RequestHandle<Output>(id, accepted, this.#transport, this.#encryption);
  }

  /** A task that was requested before. */
  task<Output = Json>(id: string): RequestHandle<Output> {
    return new RequestHandle<Output>(id, Promise.resolve({}), this.#transport, this.#encryption);
  }

  /** Requests many tasks with one result. */
  batch<Output = Json>(items: readonly BatchItem[], options?: BatchOptions): BatchHandle<Output> {
    return requestBatch<Output>(this.#transport, items, options);
  }

  /** A batch that was requested before. */
  findBatch<Output = Json>(id: string): BatchHandle<Output> {
    return new BatchHandle<Output>(this.#transport, id);
  }

  /** Requests tasks that wait for each other, by the names of their nodes. */
  graph(nodes: Record<string, GraphNode>, options?: GraphOptions): GraphHandle {
    return requestGraph(this.#transport, nodes, options);
  }

  /** A graph that was requested before. */
  findGraph(id: string): GraphHandle {
    return new GraphHandle(this.#transport, id);
  }

  /** Calls an agent that takes turns. */
  callAgent<Output = JsonObject>(
    agent: string,
    payload: JsonObject,
    options?: TurnOptions,
  ): Promise<TurnHandle<Output>> {
    return callAgent<Output>(this.#transport, agent, payload, options);
  }

  /** A turn that was called before. */
  findTurn<Output = JsonObject>(id: string): TurnHandle<Output> {
    return new TurnHandle<Output>(this.#transport, id);
  }

  /** Works on the turns of this agent: lease, steps, tools, output and deliverable in one handler. */
  turns<Payload = JsonObject>(handler: TurnHandler<Payload>, options?: TurnWorkerOptions): TurnWorker<Payload> {
    return new TurnWorker<Payload>(this.#transport, parseAgentKey(this.#key), handler, options);
  }

  /** Every call of the HTTP API by its name in /openapi.json, typed. */
  get api(): Api {
    this.#api ??= createApi(this.#transport);
    return this.#api;
  }

  /** Sends a message to `all`, to `capability:<name>` or to `domain:<name>`. For coordinators. */
  broadcast(
    audience: 'all' | `capability:${string}` | `domain:${string}`,
    content: Json,
    { id = crypto.randomUUID(), type }: { id?: string; type?: string } = {},
  ): Promise<JsonObject> {
    // The header is the address.
    const body = { kind: 'message', id, to: 'all', content, ...(type !== undefined && { type }) };
    return this.#transport.call('POST', '/v1/messages', { body, headers: { ...NATIVE, 'parley-broadcast': audience } });
  }

  /** Events of a consumer, whose cursor is on the server. */
  consume(name: string, { signal }: { signal?: AbortSignal } = {}): AsyncGenerator<Schemas['Event']> {
    return consumeEvents(this.#transport, name, signal);
  }

  /** Sends a direct message. */
  send(to: string, content: Json, { id = crypto.randomUUID(), ttl, ...more }: SendOptions = {}): Promise<JsonObject> {
    const message: JsonObject = { kind: 'message', id, to, content, ...(more as JsonObject) };
    return this.#messages.send(ttl === undefined ? message : { ...message, ttlSeconds: toSeconds(ttl) });
  }

  /**
   * The inbox, one message after the other. A message is done when the next one is asked for. They are acknowledged page by page:
   * those of the last page may come again.
   */
  async *inbox({ signal }: { signal?: AbortSignal } = {}): AsyncGenerator<InboxMessage> {
    const query = { dialect: 'native', wait: INBOX_WAIT_SECONDS, max: INBOX_PAGE };
    while (!signal?.aborted) {
      const { messages } = await this.#transport
        .call<{ messages: InboxMessage[] }>('GET', '/v1/inbox', { query, signal, waitMs: INBOX_WAIT_SECONDS * 1000 })
        .catch((error) => {
          if (signal?.aborted) return { messages: [] };
          throw error;
        });
      const ids: string[] = [];
      try {
        for (const message of messages) {
          yield message;
          ids.push(message.id);
        }
      } finally {
        if (ids.length > 0) await this.#transport.call('POST', '/v1/inbox/ack', { body: { ids } });
      }
    }
  }

  /** Events as they happen, from now on or after a position. */
  async *events({
    types,
    after,
    signal,
  }: {
    types?: string[];
    after?: string;
    signal?: AbortSignal;
  } = {}): AsyncGenerator<ParleyEvent & { position: string }> {
    const query = { type: types?.join(','), after };
    for await (const { id, data } of readEvents(this.#transport, '/v1/events', { query, signal })) {
      yield { ...(data as unknown as ParleyEvent), position: id };
    }
  }

  /** Any call of the HTTP API, repeated like all others. */
  call<T = JsonObject>(method: string, path: string, options?: CallOptions): Promise<T> {
    return this.#transport.call<T>(method, path, options);
  }
}

const getEnvironment = (): Record<string, string | undefined> =>
  (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {};

export const connect = (options: ConnectOptions = {}): Parley => {
  const { PARLEY_URL, PARLEY_KEY } = getEnvironment();
  const { url = PARLEY_URL, key = PARLEY_KEY } = options;
  if (!url) throw new TypeError('Where is Parley? Pass `url`, or set PARLEY_URL.');
  if (!key) throw new TypeError('A key is missing. Pass `key`, or set PARLEY_KEY.');
  return new Parley({ ...options, url, key });
};
