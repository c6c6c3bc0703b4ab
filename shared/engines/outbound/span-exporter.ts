import { type Log, logRateLimited } from '../../kernel/log.ts';
import type { Span, SpanSink } from '../../kernel/span.ts';
import type { Clock } from '../../ports/clock.ts';
import { encodeSpans } from './encode-spans.ts';

export interface SpanExporterOptions {
  /** Of OTLP over HTTP, with its path. */
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Of whatever exports. */
  resource: Readonly<Record<string, string>>;
  log: Log;
  clock: Clock;
  /** Without it, spans wait for `flush`. */
  flushAfterMs?: number;
}

/** As many as the batch processors of OpenTelemetry keep and send by default. More are dropped. */
const MAX_QUEUED = 2048;
const MAX_BATCH = 512;
const TIMEOUT_MS = 2000;
/** After a failure nothing is sent for a while: a collector that hangs costs one time-out in this time. */
const PAUSE_MS = 30_000;
/** Of OTLP: all others say that the same spans will never be taken. */
const RETRYABLE_STATUS: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Sends spans to a collector, in JSON. What cannot be sent is dropped: it delays and fails nothing. */
export class SpanExporter implements SpanSink {
  readonly #options: SpanExporterOptions;
  readonly #queue: Span[] = [];
  #dropped = 0;
  #pausedUntil = 0;
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;

  constructor(options: SpanExporterOptions) {
    this.#options = options;
  }

  add(spans: readonly Span[]): void {
    const room = Math.max(0, MAX_QUEUED - this.#queue.length);
    for (const span of spans.slice(0, room)) this.#queue.push(span);
    this.#dropped += Math.max(0, spans.length - room);
    this.#schedule();
  }

  /** What waits, or as much of it as is taken. */
  flush(): Promise<void> {
    this.#flushing ??= this.#sendAll().finally(() => {
      this.#flushing = undefined;
      this.#schedule();
    });
    return this.#flushing;
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.flush();
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    const { flushAfterMs } = this.#options;
    if (flushAfterMs === undefined || this.#timer || this.#flushing || this.#queue.length === 0) return;
    const isPaused = this.#options.clock.now() < this.#pausedUntil;
    const delayMs = this.#queue.length >= MAX_BATCH && !isPaused ? 0 : flushAfterMs;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.flush();
    }, delayMs);
    // A process that has nothing else to do ends.
    this.#timer.unref();
  }

  async #sendAll(): Promise<void> {
    const { clock, log, url } = this.#options;
    while (this.#queue.length > 0 && clock.now() >= this.#pausedUntil) {
      const batch = this.#queue.splice(0, MAX_BATCH);
      const failure = await this.#send(batch);
      if (!failure) continue;
      const kept = failure.isRetryable ? batch.slice(0, MAX_QUEUED - this.#queue.length) : [];
      this.#queue.unshift(...kept);
      this.#dropped += batch.length - kept.length;
      this.#pausedUntil = clock.now() + PAUSE_MS;
      const facts = { url, error: failure.error, dropped: this.#dropped };
      if (logRateLimited({ log, clock }, {}, 'spans not exported', facts)) this.#dropped = 0;
    }
  }

  async #send(batch: readonly Span[]): Promise<{ error: string; isRetryable: boolean } | undefined> {
    const { url, headers, resource } = this.#options;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: encodeSpans(batch, resource),
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      await response.body?.cancel();
      if (response.ok) return undefined;
      return { error: `it answered ${response.status}`, isRetryable: RETRYABLE_STATUS.has(response.status) };
    } catch (error) {
      return { error: String(error), isRetryable: true };
    }
  }
}
