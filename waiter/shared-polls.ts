import { getQueueUrl, type SqsQueues } from '../shared/engines/aws/sqs-queue.ts';
import { type PollOptions, receiveSkipping, releaseToSqs } from '../shared/engines/aws/sqs-receive.ts';
import { sleep } from '../shared/ports/clock.ts';
import type { QueueKey, ReceivedMessage } from '../shared/ports/queues.ts';

/** The most of SQS. */
const POLL_S = 20;
const MAX_MESSAGES = 10;
const VISIBILITY_MS = 30_000;
/** Messages that nobody here may have are left to others meanwhile. */
const UNWANTED_PAUSE_MS = 1000;

interface Asking {
  options: PollOptions;
  answer(messages: ReceivedMessage[]): void;
  fail(error: unknown): void;
}

/** One poll for each queue, however many wait for it. What nobody waits for any more is given back. */
export class SharedPolls {
  readonly #sqs: SqsQueues;
  readonly #asking = new Map<string, Set<Asking>>();
  readonly #polls = new Map<string, Promise<void>>();
  /** Queues with messages that nobody who waits may have. */
  readonly #unwanted = new Set<string>();

  constructor(sqs: SqsQueues) {
    this.#sqs = sqs;
  }

  readonly poll = (queueKey: QueueKey, options: PollOptions): Promise<ReceivedMessage[]> => {
    const url = getQueueUrl(this.#sqs, queueKey);
    if (options.waitSeconds > 0) return this.#wait(url, queueKey, options);
    // A poll that goes on has found nothing, unless nobody who waits may have it.
    return this.#polls.has(url) && !this.#unwanted.has(url)
      ? Promise.resolve([])
      : receiveSkipping(this.#sqs, queueKey, options);
  };

  /** Until no message can be taken any more. */
  async stop(): Promise<void> {
    await Promise.all(this.#polls.values());
  }

  #wait(url: string, queueKey: QueueKey, options: PollOptions): Promise<ReceivedMessage[]> {
    const { signal } = options;
    const { promise, resolve, reject } = Promise.withResolvers<ReceivedMessage[]>();
    const all = this.#asking.get(url) ?? new Set();
    const end = (settle: () => void): void => {
      all.delete(asking);
      signal?.removeEventListener('abort', leave);
      settle();
    };
    const leave = (): void => end(() => resolve([]));
    const asking: Asking = {
      options,
      answer: (messages) => end(() => resolve(messages)),
      fail: (error) => end(() => reject(error)),
    };
    if (signal?.aborted) return Promise.resolve([]);
    signal?.addEventListener('abort', leave);
    this.#asking.set(url, all.add(asking));
    if (!this.#polls.has(url)) this.#polls.set(url, this.#run(url, queueKey, all));
    return promise;
  }

  async #run(url: string, queueKey: QueueKey, all: Set<Asking>): Promise<void> {
    // Before the first receive: whoever comes in this turn of the event loop is asked for too.
    await Promise.resolve();
    while (all.size > 0) {
      try {
        const wanted = [...all].reduce((sum, { options }) => sum + options.max, 0);
        const max = Math.min(wanted, MAX_MESSAGES);
        let isUnwanted = false;
        const skip: PollOptions['skip'] = (body) => {
          const isSkipped = [...all].every(({ options }) => options.skip?.(body) ?? false);
          isUnwanted ||= isSkipped;
          return isSkipped;
        };
        const poll = { max, waitSeconds: POLL_S, visibilityMs: VISIBILITY_MS, skip };
        const received = await receiveSkipping(this.#sqs, queueKey, poll);
        const left = giveOut(received, all);
        if (isUnwanted || left.length > 0) this.#unwanted.add(url);
        else this.#unwanted.delete(url);
        if (left.length === 0) continue;
        await releaseToSqs(this.#sqs, left);
        if (all.size > 0) await sleep(this.#sqs.clock, UNWANTED_PAUSE_MS).done;
      } catch (error) {
        for (const { fail } of [...all]) fail(error);
      }
    }
    this.#polls.delete(url);
    this.#unwanted.delete(url);
  }
}

/** First come, first served. Returns what nobody wants. */
const giveOut = (received: ReceivedMessage[], all: Set<Asking>): ReceivedMessage[] => {
  let left = received;
  for (const { options, answer } of [...all]) {
    const { max, skip } = options;
    const own = left.filter(({ body }) => !skip?.(body)).slice(0, max);
    if (own.length === 0) continue;
    left = left.filter((message) => !own.includes(message));
    answer(own);
  }
  return left;
};
