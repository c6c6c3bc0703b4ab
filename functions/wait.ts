import type { Deps } from '../shared/deps.ts';
import { takeSeat } from './waiting-room.ts';

const SEATS = 100;

/** The wait of one request, which begins when something asks for its signal, and ends when there is no seat for it. */
export class Wait {
  readonly #deps: Deps;
  readonly #longestMs: number;
  readonly #over = new AbortController();
  #seat: ReturnType<typeof takeSeat> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isRefused = false;

  constructor(deps: Deps, longestMs: number) {
    this.#deps = deps;
    this.#longestMs = longestMs;
  }

  signal(project: string): AbortSignal {
    if (!this.#seat) {
      this.#timer = setTimeout(() => this.#over.abort(), this.#longestMs);
      const { waiters = SEATS } = this.#deps.config.aws ?? {};
      this.#seat = takeSeat(this.#deps, project, Number(waiters), this.#longestMs);
      this.#seat.then(
        (seat) => seat ?? this.#refuse(),
        () => this.#refuse(),
      );
    }
    return this.#over.signal;
  }

  #refuse(): void {
    this.#isRefused = true;
    this.#over.abort();
  }

  /** Before the function is frozen, so that the seat is free for the next. */
  async end(): Promise<void> {
    clearTimeout(this.#timer);
    const seat = await this.#seat?.catch(() => undefined);
    await seat?.leave().catch(() => {});
  }

  /** Whoever was not let in should come again soon. */
  headers(): Record<string, string> {
    return this.#isRefused ? { 'retry-after': '1' } : {};
  }
}
