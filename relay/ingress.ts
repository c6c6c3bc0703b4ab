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
  /** What is held in memory stays below this, as far as the sizes of the last messages tell. */
  heldBytes: number;
  /** Makes the streams and consumers that are gone. */
  provisionMissing: () => Promise<unknown>;
  /** Fires when nothing more is to be taken. */
  signal: AbortSignal;
  /** The key does not open anything any more, or does again. */
  onKeyChange: (isGood: boolean) => void;
}

/** A call holds no more than this, unless one message does. */
const MAX_BATCH_BYTES = 1024 * 1024;
const MAX_CONCURRENT_POSTS = 8;

interface HeldMessage extends IngressMessage {
  message: JsMsg;
}

/** Brings what stands in one durable consumer to Parley. Whatever ends it, nothing is acknowledged that Parley has not taken. */
export class Ingress {
  readonly #options: IngressOptions;
  readonly #durable: DurableConsumer;
  /** Taken, and not sent yet. */
  readonly #waiting: HeldMessage[] = [];
  /** Taken, and not settled yet. */
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

  /** Whether its consumer is there, as far as is known. */
  get isReading(): boolean {
    return this.#consumer !== undefined;
  }

  /** Runs until the signal fires and everything that was taken is settled. */
  async run(): Promise<void> {
    const { site, signal, log } = this.#options;
    // A server that was restarted has forgotten that it was asked.
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

  /** Leaves to others what is not settled yet. */
  nakHeld(): void {
    for (const message of this.#held) nakNow(this.#options, message);
  }

  #stopFetching(): void {
    if (this.#fetching) drainFetch(this.#fetching, this.#options.site);
    this.#notify();
  }

  /** What was not sent is for others. */
  async #releaseWaiting(): Promise<void> {
    // Older servers think of who asked no more only when they are looked at, and would lose sight of the first that is given back.
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

  /** A server that is restarted has lost the streams that it had in memory. */
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
    // What arrives in one go is sent in one go.
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

  /** One message that no call can carry must not keep the others of its batch from being taken. */
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
      // Whoever is in trouble is not asked by all at once.
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
    // What was not sent yet waits its turn on NATS.
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

const NOT_AN_OBJECT_PROBLEM = { code: 'invalid_json', detail: 'The message is not a JSON object.' };
const NO_RESPONSE: MessageResponse = { status: 503, body: {} };
/** Two of them missed, and the server is asked anew. */
const IDLE_HEARTBEAT_MS = 2500;
