import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import type { Log } from '../shared/kernel/log.ts';
import { applyDisposition, deadLetterMessage, nakNow, nakWithBackoff } from './ack.ts';
import { AuthBackoff } from './auth-backoff.ts';
import { computeBackoffMs, sleepUntilAborted, sleepWithBackoff } from './backoff.ts';
import { type Disposition, toCallDisposition, toDisposition } from './disposition.ts';
import { drainFetch } from './drain-fetch.ts';
import { type IngressMessage, toIngressMessage } from './envelope.ts';
import type { RelayMetrics } from './metrics.ts';
import { type NatsClient, RELAY_HEADER } from './nats-client.ts';
import { type MessageResponse, type ParleyApi, ParleyResponseError } from './parley-api.ts';
import { type DurableConsumer, isStreamOrConsumerMissing } from './provision-streams.ts';

export interface IngressOptions {
  site: NatsClient;
  api: ParleyApi;
  metrics: RelayMetrics;
  log: Log;
  batchSize: number;
  maxInflight: number;
  fetchMs: number;
  /** Estimated from the sizes of the last messages. */
  heldBytes: number;
  provisionMissing: () => Promise<unknown>;
  signal: AbortSignal;
  onKeyChange: (isGood: boolean) => void;
}

/** A single larger message is still sent. */
const MAX_BATCH_BYTES = 1024 * 1024;
const MAX_CONCURRENT_POSTS = 8;

interface HeldMessage extends IngressMessage {
  message: JsMsg;
}

/** Acknowledges a message only after Parley has accepted it. */
export class Ingress {
  readonly #options: IngressOptions;
  readonly #durable: DurableConsumer;
  readonly #waiting: HeldMessage[] = [];
  readonly #held = new Set<JsMsg>();
  #posts = 0;
  #averageBytes = 1024;
  #failures = 0;
  readonly #key: AuthBackoff;
  #consumer: Consumer | undefined;
  #fetching: ConsumerMessages | undefined;
  #wake = Promise.withResolvers<void>();

  constructor(durable: DurableConsumer, options: IngressOptions) {
    this.#durable = durable;
    this.#options = options;
    this.#key = new AuthBackoff(options);
  }

  get isReading(): boolean {
    return this.#consumer !== undefined;
  }

  /** Resolves after the signal, when every message taken is settled. */
  async run(): Promise<void> {
    const { site, signal, log } = this.#options;
    // A restarted server has lost the pull request.
    site.onReconnect(() => {
      this.#consumer = undefined;
      this.#fetching?.stop();
    });
    signal.addEventListener('abort', () => this.#stopFetching(), { once: true });
    for (let failures = 0; !signal.aborted; ) {
      await site.waitForConnection(signal);
      try {
        await this.#fetch();
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        this.#consumer = undefined;
        log('warn', 'consumer fetch failed', { ...this.#durable, error: String(error) });
        await sleepWithBackoff(failures++, signal);
      }
    }
    await this.#releaseWaiting();
    while (this.#held.size > 0) await this.#waitForChange();
  }

  nakHeld(): void {
    for (const message of this.#held) nakNow(this.#options, message);
  }

  #stopFetching(): void {
    if (this.#fetching) drainFetch(this.#fetching, this.#options.site);
    this.#notify();
  }

  async #releaseWaiting(): Promise<void> {
    // Older servers notice a cancelled pull only on `info`. Without it, the first returned message goes to that dead
    // pull.
    if (this.#options.site.isConnected) await this.#consumer?.info().catch(() => {});
    for (const { message } of this.#waiting.splice(0)) {
      nakNow(this.#options, message);
      this.#release(message);
    }
  }

  async #fetch(): Promise<void> {
    const { site, signal, fetchMs, maxInflight, heldBytes, batchSize } = this.#options;
    this.#consumer ??= await this.#getConsumer();
    const most = Math.max(1, Math.min(maxInflight, Math.floor(heldBytes / this.#averageBytes)));
    const free = most - this.#held.size;
    if (free < Math.min(most, batchSize) || this.#key.isActive) return this.#waitForChange();
    const messages = await this.#consumer.fetch({
      max_messages: free,
      expires: fetchMs,
      idle_heartbeat: IDLE_HEARTBEAT_MS,
    });
    this.#fetching = messages;
    if (signal.aborted) drainFetch(messages, site);
    for await (const message of messages) this.#accept(message);
  }

  /** A restarted server has lost its in-memory streams. */
  async #getConsumer(): Promise<Consumer> {
    const { site, provisionMissing } = this.#options;
    const { stream, durable } = this.#durable;
    try {
      return await site.js.consumers.get(stream, durable);
    } catch (error) {
      if (!isStreamOrConsumerMissing(error)) throw error;
      await provisionMissing();
      return site.js.consumers.get(stream, durable);
    }
  }

  #accept(message: JsMsg): void {
    const { metrics } = this.#options;
    if (message.headers?.has(RELAY_HEADER)) {
      message.ack();
      metrics.increment('ingress', 'skipped');
      return;
    }
    this.#held.add(message);
    this.#averageBytes = Math.max(512, this.#averageBytes * 0.95 + message.data.length * 0.05);
    const arrived = toIngressMessage(message);
    if (!arrived) {
      deadLetterMessage(this.#options, message, NOT_AN_OBJECT_PROBLEM).then(() => this.#release(message));
      return;
    }
    this.#waiting.push({ message, ...arrived });
    if (this.#waiting.length === 1) setImmediate(() => this.#sendWaiting());
  }

  #sendWaiting(): void {
    while (this.#waiting.length > 0 && this.#posts < MAX_CONCURRENT_POSTS && this.#canSend()) {
      this.#posts++;
      this.#sendBatch(this.#takeBatch()).finally(() => {
        this.#posts--;
        this.#sendWaiting();
        this.#notify();
      });
    }
  }

  #canSend(): boolean {
    return !this.#key.isActive && !this.#options.signal.aborted;
  }

  #takeBatch(): HeldMessage[] {
    let bytes = 0;
    const size = this.#waiting.findIndex(({ message }, at) => {
      bytes += message.data.length;
      return at === this.#options.batchSize || (at > 0 && bytes > MAX_BATCH_BYTES);
    });
    return this.#waiting.splice(0, size < 0 ? this.#waiting.length : size);
  }

  async #sendBatch(batch: HeldMessage[]): Promise<void> {
    const { api } = this.#options;
    try {
      const results = await api.sendMessages(
        batch.map(({ text }) => text),
        batch.map(({ envelope }) => envelope),
      );
      this.#failures = 0;
      await Promise.all(
        batch.map((held, at) => {
          const result = results[at] ?? { status: 500, body: {} };
          return this.#applyDisposition(held, toDisposition(result, held.message.info.deliveryCount), result);
        }),
      );
    } catch (error) {
      await this.#applyToBatch(batch, error);
    }
  }

  /** A message that no call can carry must not block the others of its batch. */
  async #applyToBatch(batch: HeldMessage[], error: unknown): Promise<void> {
    const result: MessageResponse =
      error instanceof ParleyResponseError ? { status: error.status, body: error.problem } : NO_RESPONSE;
    const disposition = toCallDisposition(result);
    if (disposition === 'deadLetter' && batch.length > 1) {
      for (const held of batch) await this.#sendBatch([held]);
      return;
    }
    if (disposition === 'retry') {
      this.#options.log('warn', 'batch send failed', { messages: batch.length, error: String(error) });
      await sleepUntilAborted(computeBackoffMs(Math.min(this.#failures++, 4)), this.#options.signal);
    }
    await Promise.all(batch.map((held) => this.#applyDisposition(held, disposition, result)));
  }

  async #applyDisposition({ message }: HeldMessage, disposition: Disposition, result: MessageResponse): Promise<void> {
    if (disposition === 'pause') this.#pauseForAuth(result.body.detail);
    await applyDisposition(this.#options, message, disposition, result);
    this.#release(message);
  }

  #pauseForAuth(why: string | undefined): void {
    if (this.#key.isActive) return;
    this.#key.wait(why).then(() => this.#notify());
    for (const { message } of this.#waiting.splice(0)) {
      nakWithBackoff(this.#options, message);
      this.#release(message);
    }
  }

  #release(message: JsMsg): void {
    this.#held.delete(message);
    this.#notify();
  }

  #notify(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  #waitForChange(): Promise<void> {
    return this.#wake.promise;
  }
}

export const NOT_AN_OBJECT_PROBLEM = { code: 'invalid_json', detail: 'The message is not a JSON object.' };
const NO_RESPONSE: MessageResponse = { status: 503, body: {} };
/** After two missed heartbeats the client sends its pull request again. */
const IDLE_HEARTBEAT_MS = 2500;
