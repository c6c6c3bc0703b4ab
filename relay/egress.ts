import * as z from 'zod';
import type { Log } from '../shared/kernel/log.ts';
import { NatsMessage } from '../shared/nats/nats-message.ts';
import type { RenderedItem, RenderResult } from '../shared/nats/render-result.ts';
import type { Priority, ReceivedMessage } from '../shared/ports/queues.ts';
import { sleepWithBackoff } from './backoff.ts';
import type { EgressSource } from './egress-source.ts';
import type { RelayMetrics } from './metrics.ts';
import { type NatsClient, UnpublishableError } from './nats-client.ts';
import type { ParleyApi } from './parley-api.ts';

export interface EgressOptions {
  site: NatsClient;
  api: ParleyApi;
  source: EgressSource;
  metrics: RelayMetrics;
  log: Log;
  signal: AbortSignal;
}

const QueueBody = z
  .object({ at: z.number() })
  .and(z.union([z.object({ publish: NatsMessage }), z.object({ id: z.string(), item: z.looseObject({}) })]));

/** Core NATS reaches only current subscribers, so an older message is dropped. */
const CORE_MAX_AGE_MS = 60_000;

/** The maximum of SQS. Longer waits mean fewer paid receives. */
export const RECEIVE_WAIT_MS = 20_000;
const RECEIVE_GRACE_MS = 5000;

const MAX_CONCURRENT_BATCHES = 4;

/** Deletes a queue message only after NATS has stored it. */
export class Egress {
  readonly #options: EgressOptions;
  readonly #priority: Priority;
  readonly #underWay = new Set<Promise<void>>();
  #failures = 0;
  #wasAnswered = false;
  #askedAt: number | undefined;

  constructor(priority: Priority, options: EgressOptions) {
    this.#priority = priority;
    this.#options = options;
  }

  get isReceiving(): boolean {
    const waitedMs = this.#askedAt === undefined ? 0 : Date.now() - this.#askedAt;
    return this.#wasAnswered && waitedMs < RECEIVE_WAIT_MS + RECEIVE_GRACE_MS;
  }

  /** Resolves after the signal, when every received message is settled. */
  async run(): Promise<void> {
    const { site, signal, log } = this.#options;
    while (!signal.aborted) {
      await site.waitForConnection(signal);
      if (this.#underWay.size >= MAX_CONCURRENT_BATCHES) await Promise.race(this.#underWay);
      if (this.#failures > 0) await sleepWithBackoff(this.#failures, signal);
      if (signal.aborted) break;
      try {
        const received = await this.#receive();
        if (received.length === 0) {
          this.#failures = 0;
          continue;
        }
        const batch = this.#publishBatch(received).finally(() => this.#underWay.delete(batch));
        this.#underWay.add(batch);
      } catch (error) {
        if (signal.aborted) break;
        this.#failures++;
        log('warn', 'receive failed', { priority: this.#priority, error: String(error) });
      }
    }
    await Promise.all(this.#underWay);
  }

  async #receive(): Promise<ReceivedMessage[]> {
    const { source, signal } = this.#options;
    // The first receive does not wait: `isReceiving` must be known at once.
    const waitMs = this.#wasAnswered ? RECEIVE_WAIT_MS : 0;
    this.#askedAt = Date.now();
    try {
      const received = await source.receive(this.#priority, waitMs, signal);
      this.#wasAnswered = true;
      return received;
    } catch (error) {
      this.#wasAnswered = false;
      throw error;
    } finally {
      this.#askedAt = undefined;
    }
  }

  async #publishBatch(received: ReceivedMessage[]): Promise<void> {
    const { source, metrics, log } = this.#options;
    const groups = [...Map.groupBy(received, ({ group }) => group).values()];
    try {
      const results = await this.#renderAll(received);
      const outcomes = await Promise.all(groups.map((group) => this.#publishGroup(group, results)));
      const done = outcomes.flat();
      const left = received.filter((message) => !done.includes(message));
      this.#failures = left.length > 0 ? this.#failures + 1 : 0;
      await Promise.all([done.length > 0 && source.delete(done), left.length > 0 && source.release(left)]);
      metrics.increment('egress', 'retries', left.length);
    } catch (error) {
      this.#failures++;
      metrics.increment('egress', 'retries', received.length);
      log('warn', 'batch publish failed', { messages: received.length, error: String(error) });
      // If the release fails, the messages return when their visibility timeout ends.
      await source.release(received).catch(() => {});
    }
  }

  async #renderAll(received: ReceivedMessage[]): Promise<Map<ReceivedMessage, RenderResult>> {
    const results = new Map<ReceivedMessage, RenderResult>();
    const asking = received.filter((message) => {
      const { data } = QueueBody.safeParse(message.body);
      if (data && 'item' in data) return true;
      results.set(message, data ? { publish: data.publish } : { skip: 'unreadable item' });
      return false;
    });
    for (let left = asking; left.length > 0; ) {
      const answers = await this.#options.api.render(left.map(({ body }) => parseRelayItem(body)));
      for (const [at, message] of left.entries()) results.set(message, answers[at] ?? { problem: 'no response' });
      left = left.filter((message) => 'deferred' in (results.get(message) ?? {}));
    }
    return results;
  }

  /** Sequential: a failed publish holds back the rest of its group. */
  async #publishGroup(
    group: ReceivedMessage[],
    results: Map<ReceivedMessage, RenderResult>,
  ): Promise<ReceivedMessage[]> {
    const done: ReceivedMessage[] = [];
    for (const message of group) {
      const result = results.get(message);
      if (!result || !isRenderedItem(result) || !(await this.#publishOne(message, result))) break;
      done.push(message);
    }
    return done;
  }

  async #publishOne(message: ReceivedMessage, result: RenderedItem, isShortened = false): Promise<boolean> {
    const { site, metrics, log } = this.#options;
    if ('skip' in result) {
      metrics.increment('egress', 'skipped');
      return true;
    }
    const { publish } = result;
    if (publish.core && getSentAt(message) < Date.now() - CORE_MAX_AGE_MS) {
      metrics.increment('egress', 'skipped');
      return true;
    }
    try {
      const bytes = await site.publish(publish);
      metrics.increment('egress', 'messages');
      metrics.increment('egress', 'bytes', bytes);
      metrics.recordAge('egress', getSentAt(message));
      return true;
    } catch (error) {
      if (!(error instanceof UnpublishableError)) {
        log('warn', 'publish failed', { subject: publish.subject, error: String(error) });
        return false;
      }
      if (!isShortened && isRenderRequest(message)) return this.#publishReduced(message);
      const problem = { code: 'unpublishable', detail: error.message };
      log('error', 'message unpublishable, dead-lettered', {
        subject: publish.subject,
        id: publish.id,
        error: error.message,
      });
      await site.publishDeadLetter(
        publish.subject,
        undefined,
        new Uint8Array(),
        { ...problem, id: publish.id },
        `dead-letter/${publish.id}`,
      );
      metrics.increment('egress', 'dead_letters');
      return true;
    }
  }

  async #publishReduced(message: ReceivedMessage): Promise<boolean> {
    const [result] = await this.#options.api.render([{ ...parseRelayItem(message.body), isTooLarge: true }]);
    return result !== undefined && isRenderedItem(result) && this.#publishOne(message, result, true);
  }
}

const isRenderedItem = (result: RenderResult): result is RenderedItem => 'publish' in result || 'skip' in result;

const isRenderRequest = ({ body }: ReceivedMessage): boolean => 'item' in (QueueBody.safeParse(body).data ?? {});

const parseRelayItem = (body: ReceivedMessage['body']): { id: string; item: object } => {
  const data = QueueBody.parse(body);
  if ('item' in data) return { id: data.id, item: data.item };
  throw new Error('not a render item');
};

const getSentAt = ({ body }: ReceivedMessage): number => QueueBody.safeParse(body).data?.at ?? Date.now();
