import type { Deps } from '../../shared/identity/deps.ts';
import type { acquireSlot } from './long-poll-semaphore.ts';

const DEFAULT_SLOTS = 100;
/** Most find at once what they would wait for: whoever is still here after this needs a slot. */
const GRACE_MS = 250;
/** What waits of a minute add up to is how many there were on average. */
const MINUTE_MS = 60_000;

/** The wait of one request, which begins when something asks for its signal, and ends when there is no slot for it. */
export class LambdaLongPoll {
  readonly #deps: Deps;
  readonly #longestMs: number;
  readonly #ended = new AbortController();
  #slot: ReturnType<typeof acquireSlot> | undefined;
  #timers: NodeJS.Timeout[] = [];
  #begun: { at: number; project: string } | undefined;
  #isRefused = false;

  constructor(deps: Deps, longestMs: number) {
    this.#deps = deps;
    this.#longestMs = longestMs;
  }

  startWait(project: string, owner: string): AbortSignal {
    if (this.#timers.length === 0) {
      this.#begun = { at: this.#deps.clock.now(), project };
      this.#timers = [
        setTimeout(() => this.#acquireSlot(project, owner), GRACE_MS),
        setTimeout(() => this.#ended.abort(), this.#longestMs),
      ];
    }
    return this.#ended.signal;
  }

  #acquireSlot(project: string, owner: string): void {
    const { limits, aws } = this.#deps.config;
    const { longPollSlots: slots = DEFAULT_SLOTS } = aws ?? {};
    const ownSlots = Math.min(limits.waitsPerKey, Math.ceil(slots / 2));
    this.#slot = import('./long-poll-semaphore.ts').then((semaphore) =>
      semaphore.acquireSlot(this.#deps, { project, owner, slots, ownSlots }, this.#longestMs),
    );
    this.#slot.then(
      (slot) => slot ?? this.#reject(),
      () => this.#reject(),
    );
  }

  #reject(): void {
    this.#isRefused = true;
    this.#ended.abort();
  }

  /** Before the function is frozen, so that the slot is free for the next. */
  async end(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    if (this.#begun) {
      const { at, project } = this.#begun;
      this.#deps.recordMetric('open_waits', (this.#deps.clock.now() - at) / MINUTE_MS, { project });
    }
    const slot = await this.#slot?.catch(() => undefined);
    await slot?.leave().catch(() => {});
  }

  /** Whoever was not let in should come again soon. */
  buildHeaders(): Record<string, string> {
    return this.#isRefused ? { 'retry-after': '1' } : {};
  }
}
