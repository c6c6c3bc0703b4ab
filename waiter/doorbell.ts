import { ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import type { Log } from '../shared/kernel/log.ts';
import { type Clock, sleep } from '../shared/ports/clock.ts';
import type { Watcher } from '../shared/ports/records.ts';

/** The longest poll of SQS. */
const POLL_S = 20;
const AFTER_ERROR_MS = 1000;
const Keys = z.array(z.string());

/** A ring may be lost: with a task that takes over from another, or as it is sent. */
const UNTOLD_MS = 10_000;
/** An index follows its table after some milliseconds, seldom more: after a ring it is read again and again for so long. */
const SETTLE_MS = 2000;
const FIRST_RECHECK_MS = 50;

/** Hears what functions write, so that nobody has to look. Rings are not deleted: their queue forgets them. */
export class Doorbell {
  readonly #clock: Clock;
  readonly #watchers = new Map<string, Set<RungWatcher>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves after the signal. */
  async listen(sqs: SQSClient, url: string, log: Log, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const receive = new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: POLL_S });
        const { Messages: messages = [] } = await sqs.send(receive, {
          abortSignal: signal,
          requestTimeout: (POLL_S + 3) * 1000,
        });
        for (const { Body: body = '[]' } of messages) for (const key of Keys.parse(JSON.parse(body))) this.ring(key);
      } catch (error) {
        if (signal.aborted) return;
        log('warn', 'doorbell not heard', { error: String(error) });
        await sleep(this.#clock, AFTER_ERROR_MS, signal).done;
      }
    }
  }

  ring(key: string): void {
    for (const watcher of this.#watchers.get(key) ?? []) watcher.ring();
  }

  watch(keys: string[]): Watcher {
    const watcher = new RungWatcher(this.#clock);
    for (const key of keys) this.#watchers.set(key, (this.#watchers.get(key) ?? new Set()).add(watcher));
    return {
      next: (ms, signal) => watcher.next(ms, signal),
      close: () => {
        for (const key of keys) {
          const all = this.#watchers.get(key);
          all?.delete(watcher);
          if (all?.size === 0) this.#watchers.delete(key);
        }
      },
    };
  }
}

class RungWatcher {
  readonly #clock: Clock;
  #isRung = false;
  #settlesAt = 0;
  #recheckMs = FIRST_RECHECK_MS;
  #wake: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ring(): void {
    this.#isRung = true;
    this.#settlesAt = this.#clock.now() + SETTLE_MS;
    this.#recheckMs = FIRST_RECHECK_MS;
    this.#wake();
  }

  async next(ms: number, signal?: AbortSignal): Promise<void> {
    if (!this.#isRung) {
      const isSettling = this.#clock.now() < this.#settlesAt;
      const delay = sleep(this.#clock, Math.min(ms, isSettling ? this.#recheckMs : UNTOLD_MS), signal);
      this.#recheckMs *= 2;
      this.#wake = delay.endEarly;
      await delay.done;
    }
    this.#isRung = false;
  }
}
