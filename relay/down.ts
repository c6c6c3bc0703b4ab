import * as z from 'zod';
import type { Log } from '../shared/log.ts';
import type { Priority, Received } from '../shared/ports/queues.ts';
import { NatsMessage } from '../shared/relay/nats-message.ts';
import type { Worded, Words } from '../shared/relay/words.ts';
import type { Metrics } from './metrics.ts';
import type { ParleyApi } from './parley-api.ts';
import { growingMs, pause } from './pause.ts';
import { type Site, Unpublishable } from './site.ts';
import type { Source } from './source.ts';

export interface DownOptions {
  site: Site;
  api: ParleyApi;
  source: Source;
  metrics: Metrics;
  log: Log;
  /** Fires when nothing more is to be taken. */
  signal: AbortSignal;
}

/** As `shared/relay/relayed.ts` makes it; what is asked is between Parley and itself. */
const Body = z
  .object({ at: z.number() })
  .and(z.union([z.object({ publish: NatsMessage }), z.object({ id: z.string(), ask: z.looseObject({}) })]));

/** What goes to core NATS is told to whoever listens at the time: after this, nobody does any more. */
const WORTH_HEARING_MS = 60_000;

/** The longest that SQS lets a receive wait, and the cheapest. */
export const WAIT_MS = 20_000;
/** A receive that takes longer than it was to wait, by this much, has no answer. */
const LATE_MS = 5000;

/** So many receives are worked off at the same time. */
const BATCHES_AT_ONCE = 4;

/** Brings what waits in the lane of one priority to NATS. Whatever ends it, nothing is deleted that NATS has not taken. */
export class Down {
  readonly #options: DownOptions;
  readonly #priority: Priority;
  readonly #underWay = new Set<Promise<void>>();
  /** Of receives and batches, one after the other. */
  #failures = 0;
  #wasAnswered = false;
  #askedAt: number | undefined;

  constructor(priority: Priority, options: DownOptions) {
    this.#priority = priority;
    this.#options = options;
  }

  /** Whether its queue answers. */
  get isReceiving(): boolean {
    const waitedMs = this.#askedAt === undefined ? 0 : Date.now() - this.#askedAt;
    return this.#wasAnswered && waitedMs < WAIT_MS + LATE_MS;
  }

  /** Runs until the signal fires and everything that was taken is settled. */
  async run(): Promise<void> {
    const { site, signal, log } = this.#options;
    while (!signal.aborted) {
      await site.connected(signal);
      if (this.#underWay.size >= BATCHES_AT_ONCE) await Promise.race(this.#underWay);
      if (this.#failures > 0) await pause(growingMs(this.#failures), signal);
      if (signal.aborted) break;
      try {
        const received = await this.#receive();
        if (received.length === 0) {
          this.#failures = 0;
          continue;
        }
        const batch = this.#bring(received).finally(() => this.#underWay.delete(batch));
        this.#underWay.add(batch);
      } catch (error) {
        if (signal.aborted) break;
        this.#failures++;
        log('warn', 'nothing could be received', { priority: this.#priority, error: String(error) });
      }
    }
    await Promise.all(this.#underWay);
  }

  async #receive(): Promise<Received[]> {
    const { source, signal } = this.#options;
    // Whether a queue answers at all is not waited for.
    const waitMs = this.#wasAnswered ? WAIT_MS : 0;
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

  async #bring(received: Received[]): Promise<void> {
    const { source, metrics, log } = this.#options;
    const groups = [...Map.groupBy(received, ({ group }) => group).values()];
    try {
      const words = await this.#wordsFor(received);
      const outcomes = await Promise.all(groups.map((group) => this.#bringGroup(group, words)));
      const done = outcomes.flat();
      const left = received.filter((message) => !done.includes(message));
      this.#failures = left.length > 0 ? this.#failures + 1 : 0;
      await Promise.all([done.length > 0 && source.delete(done), left.length > 0 && source.release(left)]);
      metrics.count('down', 'retries', left.length);
    } catch (error) {
      this.#failures++;
      metrics.count('down', 'retries', received.length);
      log('warn', 'a batch could not be brought to NATS', { messages: received.length, error: String(error) });
      // Should this fail too, they come back when their time is over.
      await source.release(received).catch(() => {});
    }
  }

  /** In one call, and in as many more as large messages need. */
  async #wordsFor(received: Received[]): Promise<Map<Received, Words>> {
    const words = new Map<Received, Words>();
    const asking = received.filter((message) => {
      const { data } = Body.safeParse(message.body);
      if (data && 'ask' in data) return true;
      words.set(message, data ? { publish: data.publish } : { skip: 'it says nothing' });
      return false;
    });
    for (let left = asking; left.length > 0; ) {
      const answers = await this.#options.api.words(left.map(({ body }) => askIn(body)));
      for (const [at, message] of left.entries()) words.set(message, answers[at] ?? { problem: 'no answer' });
      left = left.filter((message) => 'later' in (words.get(message) ?? {}));
    }
    return words;
  }

  /** One after the other. What comes behind one that could not be published waits with it. */
  async #bringGroup(group: Received[], words: Map<Received, Words>): Promise<Received[]> {
    const done: Received[] = [];
    for (const message of group) {
      const word = words.get(message);
      if (!word || !isWorded(word) || !(await this.#bringOne(message, word))) break;
      done.push(message);
    }
    return done;
  }

  async #bringOne(message: Received, word: Worded, isShortened = false): Promise<boolean> {
    const { site, metrics, log } = this.#options;
    if ('skip' in word) {
      metrics.count('down', 'skipped');
      return true;
    }
    const { publish } = word;
    if (publish.core && sentAt(message) < Date.now() - WORTH_HEARING_MS) {
      metrics.count('down', 'skipped');
      return true;
    }
    try {
      const bytes = await site.publish(publish);
      metrics.count('down', 'messages');
      metrics.count('down', 'bytes', bytes);
      metrics.saw('down', sentAt(message));
      return true;
    } catch (error) {
      if (!(error instanceof Unpublishable)) {
        log('warn', 'a message could not be published', { subject: publish.subject, error: String(error) });
        return false;
      }
      if (!isShortened && isAsking(message)) return this.#bringShorter(message);
      const problem = { code: 'unpublishable', detail: error.message };
      log('error', 'no server takes a message', { subject: publish.subject, id: publish.id, error: error.message });
      await site.bury(
        publish.subject,
        undefined,
        new Uint8Array(),
        { ...problem, id: publish.id },
        `dead/${publish.id}`,
      );
      metrics.count('down', 'dead');
      return true;
    }
  }

  /** What Parley puts into words, it can say with large content as a card. */
  async #bringShorter(message: Received): Promise<boolean> {
    const [word] = await this.#options.api.words([{ ...askIn(message.body), isTooLarge: true }]);
    return word !== undefined && isWorded(word) && this.#bringOne(message, word, true);
  }
}

const isWorded = (word: Words): word is Worded => 'publish' in word || 'skip' in word;

const isAsking = ({ body }: Received): boolean => 'ask' in (Body.safeParse(body).data ?? {});

const askIn = (body: Received['body']): { id: string; ask: object } => {
  const data = Body.parse(body);
  if ('ask' in data) return { id: data.id, ask: data.ask };
  throw new Error('a message that asks for nothing was asked about');
};

const sentAt = ({ body }: Received): number => Body.safeParse(body).data?.at ?? Date.now();
