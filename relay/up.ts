import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import type { Log } from '../shared/log.ts';
import { type Arrived, arrivedIn } from './arrived.ts';
import { KeyPause } from './key-pause.ts';
import type { Metrics } from './metrics.ts';
import { type ParleyApi, Refusal, type Result } from './parley-api.ts';
import { growingMs, pause } from './pause.ts';
import { again, bury, giveBack, settle } from './settle.ts';
import { BROUGHT, type Site } from './site.ts';
import { stopAsking } from './stop-asking.ts';
import { type Durable, isMissing } from './streams.ts';
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
  /** Makes the streams and consumers that are gone. */
  makeMissing: () => Promise<unknown>;
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
  /** Taken, and not sent yet. */
  readonly #waiting: Held[] = [];
  /** Taken, and not settled yet. */
  readonly #held = new Set<JsMsg>();
  #posts = 0;
  #averageBytes = 1024;
  #failures = 0;
  readonly #key: KeyPause;
  #consumer: Consumer | undefined;
  #fetching: ConsumerMessages | undefined;
  #wake = Promise.withResolvers<void>();

  constructor(durable: Durable, options: UpOptions) {
    this.#durable = durable;
    this.#options = options;
    this.#key = new KeyPause(options);
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
    signal.addEventListener('abort', () => this.#end(), { once: true });
    for (let failures = 0; !signal.aborted; ) {
      await site.connected(signal);
      try {
        await this.#fetch();
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        this.#consumer = undefined;
        log('warn', 'a consumer could not be read', { ...this.#durable, error: String(error) });
        await pause(growingMs(failures++), signal);
      }
    }
    await this.#leave();
    while (this.#held.size > 0) await this.#changed();
  }

  /** Leaves to others what is not settled yet. */
  giveBack(): void {
    for (const message of this.#held) giveBack(this.#options, message);
  }

  #end(): void {
    if (this.#fetching) stopAsking(this.#fetching, this.#options.site);
    this.#notify();
  }

  /** What was not sent is for others. */
  async #leave(): Promise<void> {
    // Older servers think of who asked no more only when they are looked at, and would lose sight of the first that is given back.
    if (this.#options.site.isConnected) await this.#consumer?.info().catch(() => {});
    for (const { message } of this.#waiting.splice(0)) {
      giveBack(this.#options, message);
      this.#release(message);
    }
  }

  async #fetch(): Promise<void> {
    const { site, signal, fetchMs, maxInflight, heldBytes, batchSize } = this.#options;
    this.#consumer ??= await this.#found();
    const most = Math.max(1, Math.min(maxInflight, Math.floor(heldBytes / this.#averageBytes)));
    const free = most - this.#held.size;
    if (free < Math.min(most, batchSize) || this.#key.isOn) return this.#changed();
    const messages = await this.#consumer.fetch({ max_messages: free, expires: fetchMs, idle_heartbeat: HEARTBEAT_MS });
    this.#fetching = messages;
    if (signal.aborted) stopAsking(messages, site);
    for await (const message of messages) this.#take(message);
  }

  /** A server that is restarted has lost the streams that it had in memory. */
  async #found(): Promise<Consumer> {
    const { site, makeMissing } = this.#options;
    const { stream, durable } = this.#durable;
    try {
      return await site.js.consumers.get(stream, durable);
    } catch (error) {
      if (!isMissing(error)) throw error;
      await makeMissing();
      return site.js.consumers.get(stream, durable);
    }
  }

  #take(message: JsMsg): void {
    const { metrics } = this.#options;
    if (message.headers?.has(BROUGHT)) {
      message.ack();
      metrics.count('up', 'skipped');
      return;
    }
    this.#held.add(message);
    this.#averageBytes = Math.max(512, this.#averageBytes * 0.95 + message.data.length * 0.05);
    const arrived = arrivedIn(message);
    if (!arrived) {
      bury(this.#options, message, NO_OBJECT).then(() => this.#release(message));
      return;
    }
    this.#waiting.push({ message, ...arrived });
    // What arrives in one go is sent in one go.
    if (this.#waiting.length === 1) setImmediate(() => this.#post());
  }

  #post(): void {
    while (this.#waiting.length > 0 && this.#posts < POSTS_AT_ONCE && this.#maySend()) {
      this.#posts++;
      this.#send(this.#nextBatch()).finally(() => {
        this.#posts--;
        this.#post();
        this.#notify();
      });
    }
  }

  #maySend(): boolean {
    return !this.#key.isOn && !this.#options.signal.aborted;
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
    this.#release(message);
  }

  #pauseForKey(why: string | undefined): void {
    if (this.#key.isOn) return;
    this.#key.last(why).then(() => this.#notify());
    // What was not sent yet waits its turn on NATS.
    for (const { message } of this.#waiting.splice(0)) {
      again(this.#options, message);
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

  #changed(): Promise<void> {
    return this.#wake.promise;
  }
}

const NO_OBJECT = { code: 'invalid_json', detail: 'The message is not a JSON object.' };
const NO_ANSWER: Result = { status: 503, body: {} };
/** Two of them missed, and the server is asked anew. */
const HEARTBEAT_MS = 2500;
