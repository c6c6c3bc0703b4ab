import type { Deps } from '../shared/deps.ts';
import { takeSeat } from './waiting-room.ts';

const SEATS = 100;
/** Most find at once what they would wait for: whoever is still here after this needs a seat. */
const STANDING_MS = 250;

/** The wait of one request, which begins when something asks for its signal, and ends when there is no seat for it. */
export class Wait {
  readonly #deps: Deps;
  readonly #longestMs: number;
  readonly #over = new AbortController();
  #seat: ReturnType<typeof takeSeat> | undefined;
  #timers: NodeJS.Timeout[] = [];
  #isRefused = false;

  constructor(deps: Deps, longestMs: number) {
    this.#deps = deps;
    this.#longestMs = longestMs;
  }

  signal(project: string): AbortSignal {
    if (this.#timers.length === 0) {
      this.#timers = [
        setTimeout(() => this.#sit(project), STANDING_MS),
        setTimeout(() => this.#over.abort(), this.#longestMs),
      ];
    }
    return this.#over.signal;
  }

  #sit(project: string): void {
    const { waiters = SEATS } = this.#deps.config.aws ?? {};
    this.#seat = takeSeat(this.#deps, project, waiters, this.#longestMs);
    this.#seat.then(
      (seat) => seat ?? this.#refuse(),
      () => this.#refuse(),
    );
  }

  #refuse(): void {
    this.#isRefused = true;
    this.#over.abort();
  }

  /** Before the function is frozen, so that the seat is free for the next. */
  async end(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    const seat = await this.#seat?.catch(() => undefined);
    await seat?.leave().catch(() => {});
  }

  /** Whoever was not let in should come again soon. */
  headers(): Record<string, string> {
    return this.#isRefused ? { 'retry-after': '1' } : {};
  }
}
