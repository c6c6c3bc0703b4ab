/** A message as it waits in a lane. */
export interface Waiting {
  seq: number;
  group: string;
  body: string;
}

/** What waits in memory as well as in the file; the rest of a long lane is read when its turn comes. */
const IN_MEMORY = 1024;
/** How many messages a receiver looks past because it leaves them to others. */
const LOOKED_PAST = 1000;

/** Which messages of one lane can be given out, and which are out. A crash forgets the latter, and they are there again. */
export class LaneStock {
  /** Reads some more messages behind a place in the lane. */
  readonly #read: (after: number, limit: number) => Waiting[];
  /** In order; nothing between them is missing. */
  readonly #ready: Waiting[] = [];
  readonly #out = new Map<number, { message: Waiting; until: number }>();
  readonly #busy = new Set<string>();
  #readUpTo = 0;
  /** Whether the file may hold more than is here. */
  #hasMore: boolean;

  constructor(read: (after: number, limit: number) => Waiting[], hasMore: boolean) {
    this.#read = read;
    this.#hasMore = hasMore;
  }

  /** A message that has just been written behind all others. */
  add(message: Waiting): void {
    if (message.seq <= this.#readUpTo) return;
    if (this.#hasMore || this.#ready.length >= IN_MEMORY) {
      this.#hasMore = true;
      return;
    }
    this.#ready.push(message);
    this.#readUpTo = message.seq;
  }

  /** The next message whose group has none out, and that is not left to others. */
  take(until: number, isLeft: (message: Waiting) => boolean): Waiting | undefined {
    let left = 0;
    for (let at = 0; left < LOOKED_PAST && (at < this.#ready.length || this.#readMore()); at++) {
      const message = this.#ready[at];
      if (!message || this.#busy.has(message.group)) continue;
      if (isLeft(message)) {
        left += 1;
        continue;
      }
      this.#ready.splice(at, 1);
      this.#out.set(message.seq, { message, until });
      this.#busy.add(message.group);
      return message;
    }
    return undefined;
  }

  /** It will not come back. Says whether it was out. */
  drop(seq: number): boolean {
    const out = this.#out.get(seq);
    if (!out) return false;
    this.#out.delete(seq);
    this.#busy.delete(out.message.group);
    return true;
  }

  /** Whether it holds nothing, and the file does not either. */
  get isEmpty(): boolean {
    return this.#ready.length === 0 && this.#out.size === 0 && !this.#hasMore;
  }

  /** It waits again in its old place. Says whether it was out. */
  giveBack(seq: number): boolean {
    const message = this.#out.get(seq)?.message;
    if (!message || !this.drop(seq)) return false;
    const at = this.#ready.findIndex((other) => other.seq > seq);
    this.#ready.splice(at < 0 ? this.#ready.length : at, 0, message);
    return true;
  }

  giveBackLapsed(now: number): void {
    for (const [seq, { until }] of this.#out) if (until <= now) this.giveBack(seq);
  }

  #readMore(): boolean {
    if (!this.#hasMore) return false;
    const more = this.#read(this.#readUpTo, IN_MEMORY);
    this.#ready.push(...more);
    this.#readUpTo = more.at(-1)?.seq ?? this.#readUpTo;
    this.#hasMore = more.length === IN_MEMORY;
    return more.length > 0;
  }
}
