import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import type { Log } from '../shared/log.ts';
import { type Arrived, arrivedIn } from './arrived.ts';
import { KeyPause } from './key-pause.ts';
import type { Metrics } from './metrics.ts';
import { type ParleyApi, Refusal, type Result } from './parley-api.ts';
import { aborted, growingMs, pause } from './pause.ts';
import { again, bury, settle } from './settle.ts';
import { BROUGHT, type Site } from './site.ts';
import type { Durable } from './streams.ts';
import { type Verdict, verdictOn, verdictOnCall } from './verdict.ts';

export interface UpOptions {
  site: Site;
  api: ParleyApi;
  metrics: Metrics;
  log: Log;
  batchSize: number;
  maxInflight: number;
  fetchMs: number;
  /** What is held in memory stays below this, as far as the sizes of the last messages tell. */
  heldBytes: number;
  /** Fires when nothing more is to be taken. */
  signal: AbortSignal;
  /** The key does not open anything any more, or does again. */
  onKey: (isGood: boolean) => void;
}

/** A call holds no more than this, unless one message does. */
const BATCH_BYTES = 1024 * 1024;
const POSTS_AT_ONCE = 8;

interface Held extends Arrived {
  message: JsMsg;
}

/** Brings what stands in one durable consumer to Parley. Whatever ends it, nothing is acknowledged that Parley has not taken. */
export class Up {
  readonly #options: UpOptions;
  readonly #durable: Durable;
  readonly #waiting: Held[] = [];
  #held = 0;
  #posts = 0;
  #averageBytes = 1024;
  #failures = 0;
  readonly #key: KeyPause;
  #fetching: ConsumerMessages | undefined;
  #ended: Promise<void> = Promise.resolve();
  #wake = Promise.withResolvers<void>();

  constructor(durable: Durable, options: UpOptions) {
    this.#durable = durable;
    this.#options = options;
    this.#key = new KeyPause(options);
  }

  /** Runs until the signal fires and everything that was taken is settled. */
  async run(): Promise<void> {
    const { site, signal, log } = this.#options;
    // A server that was restarted has forgotten that it was asked.
    site.onReconnect(() => this.#fetching?.stop());
    this.#ended = aborted(signal);
    // What is on its way when the relay stops is given back; after that, the server knows that nobody asks any more.
    this.#ended.then(() => setTimeout(() => this.#fetching?.stop(), LAST_MS));
    for (let failures = 0; !signal.aborted; ) {
      await Promise.race([site.connected(), this.#ended]);
      try {
        const consumer = await site.js.consumers.get(this.#durable.stream, this.#durable.durable);
        failures = 0;
        await this.#fetchFrom(consumer);
      } catch (error) {
        if (signal.aborted) break;
        log('warn', 'a consumer could not be read', { ...this.#durable, error: String(error) });
        await pause(growingMs(failures++), signal);
      }
    }
    while (this.#held > 0) await this.#changed();
  }

  async #fetchFrom(consumer: Consumer): Promise<void> {
    const { signal, fetchMs, maxInflight, heldBytes } = this.#options;
    while (!signal.aborted) {
      const most = Math.max(1, Math.min(maxInflight, Math.floor(heldBytes / this.#averageBytes)));
      const free = most - this.#held;
      if (free < Math.min(most, this.#options.batchSize) || this.#key.isOn) {
        await Promise.race([this.#changed(), this.#ended]);
        continue;
      }
      const messages = await consumer.fetch({ max_messages: free, expires: fetchMs, idle_heartbeat: HEARTBEAT_MS });
      this.#fetching = messages;
      if (signal.aborted) messages.stop();
      for await (const message of messages) this.#take(message);
    }
  }

  #take(message: JsMsg): void {
    const { metrics, signal } = this.#options;
    if (signal.aborted) {
      message.nak(2 * LAST_MS);
      return;
    }
    if (message.headers?.has(BROUGHT)) {
      message.ack();
      metrics.count('up', 'skipped');
      return;
    }
    this.#held++;
    this.#averageBytes = Math.max(512, this.#averageBytes * 0.95 + message.data.length * 0.05);
    const arrived = arrivedIn(message);
    if (!arrived) {
      bury(this.#options, message, NO_OBJECT).then(() => this.#release());
      return;
    }
    this.#waiting.push({ message, ...arrived });
    // What arrives in one go is sent in one go.
    if (this.#waiting.length === 1) setImmediate(() => this.#post());
  }

  #post(): void {
    while (this.#waiting.length > 0 && this.#posts < POSTS_AT_ONCE && !this.#key.isOn) {
      this.#posts++;
      this.#send(this.#nextBatch()).finally(() => {
        this.#posts--;
        this.#post();
        this.#notify();
      });
    }
  }

  #nextBatch(): Held[] {
    let bytes = 0;
    const size = this.#waiting.findIndex(({ message }, at) => {
      bytes += message.data.length;
      return at === this.#options.batchSize || (at > 0 && bytes > BATCH_BYTES);
    });
    return this.#waiting.splice(0, size < 0 ? this.#waiting.length : size);
  }

  async #send(batch: Held[]): Promise<void> {
    const { api } = this.#options;
    try {
      const results = await api.send(
        batch.map(({ text }) => text),
        batch.map(({ arrival }) => arrival),
      );
      this.#failures = 0;
      await Promise.all(
        batch.map((held, at) => {
          const result = results[at] ?? { status: 500, body: {} };
          return this.#settle(held, verdictOn(result, held.message.info.deliveryCount), result);
        }),
      );
    } catch (error) {
      await this.#settleAll(batch, error);
    }
  }

  /** One message that no call can carry must not keep the others of its batch from being taken. */
  async #settleAll(batch: Held[], error: unknown): Promise<void> {
    const result: Result = error instanceof Refusal ? { status: error.status, body: error.problem } : NO_ANSWER;
    const verdict = verdictOnCall(result);
    if (verdict === 'dead' && batch.length > 1) {
      for (const held of batch) await this.#send([held]);
      return;
    }
    if (verdict === 'later') {
      this.#options.log('warn', 'Parley did not take a batch', { messages: batch.length, error: String(error) });
      // Whoever is in trouble is not asked by all at once.
      await pause(growingMs(Math.min(this.#failures++, 4)), this.#options.signal);
    }
    await Promise.all(batch.map((held) => this.#settle(held, verdict, result)));
  }

  async #settle({ message }: Held, verdict: Verdict, result: Result): Promise<void> {
    if (verdict === 'stop') this.#pauseForKey(result.body.detail);
    await settle(this.#options, message, verdict, result);
    this.#release();
  }

  #pauseForKey(why: string | undefined): void {
    if (this.#key.isOn) return;
    this.#key.last(why).then(() => this.#notify());
    // What was not sent yet waits its turn on NATS.
    for (const { message } of this.#waiting.splice(0)) {
      again(this.#options, message);
      this.#release();
    }
  }

  #release(): void {
    this.#held--;
    this.#notify();
  }

  #notify(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  #changed(): Promise<void> {
    return this.#wake.promise;
  }
}

/** Longer than a message takes from the server to here. */
const LAST_MS = 250;
const NO_OBJECT = { code: 'invalid_json', detail: 'The message is not a JSON object.' };
const NO_ANSWER: Result = { status: 503, body: {} };
/** Two of them missed, and the server is asked anew. */
const HEARTBEAT_MS = 2500;
