/** A message as it waits in a lane. */
export interface QueuedMessage {
  seq: number;
  group: string;
  body: string;
}

/** What waits in memory as well as in the file; the rest of a long lane is read when its turn comes. */
const MAX_BUFFERED = 1024;
/** How many messages a receiver looks past because it leaves them to others. */
const MAX_SKIPPED = 1000;

/** Which messages of one lane can be given out, and which are out. A crash forgets the latter, and they are there again. */
export class QueueBuffer {
  /** Reads some more messages behind a place in the lane. */
  readonly #read: (after: number, limit: number) => QueuedMessage[];
  /** In order; nothing between them is missing. */
  readonly #ready: QueuedMessage[] = [];
  readonly #inFlight = new Map<number, { message: QueuedMessage; until: number }>();
  readonly #busyGroups = new Set<string>();
  #readUpTo = 0;
  /** Whether the file may hold more than is here. */
  #hasMore: boolean;

  constructor(read: (after: number, limit: number) => QueuedMessage[], hasMore: boolean) {
    this.#read = read;
    this.#hasMore = hasMore;
  }

  /** A message that has just been written behind all others. */
  add(message: QueuedMessage): void {
    if (message.seq <= this.#readUpTo) return;
    if (this.#hasMore || this.#ready.length >= MAX_BUFFERED) {
      this.#hasMore = true;
      return;
    }
    this.#ready.push(message);
    this.#readUpTo = message.seq;
  }

  /** The next message whose group has none out, and that is not left to others. */
  take(until: number, isLeft: (message: QueuedMessage) => boolean): QueuedMessage | undefined {
    let left = 0;
    for (let at = 0; left < MAX_SKIPPED && (at < this.#ready.length || this.#readMore()); at++) {
      const message = this.#ready[at];
      if (!message || this.#busyGroups.has(message.group)) continue;
      if (isLeft(message)) {
        left += 1;
        continue;
      }
      this.#ready.splice(at, 1);
      this.#inFlight.set(message.seq, { message, until });
      this.#busyGroups.add(message.group);
      return message;
    }
    return undefined;
  }

  /** It will not come back. Says whether it was out. */
  delete(seq: number): boolean {
    const out = this.#inFlight.get(seq);
    if (!out) return false;
    this.#inFlight.delete(seq);
    this.#busyGroups.delete(out.message.group);
    return true;
  }

  /** Which message stands first; those of all lanes are counted together. */
  get firstSeq(): number {
    return this.#ready[0]?.seq ?? (this.#hasMore ? this.#readUpTo : Infinity);
  }

  /** Whether it holds nothing, and the file does not either. */
  get isEmpty(): boolean {
    return this.#ready.length === 0 && this.#inFlight.size === 0 && !this.#hasMore;
  }

  /** It waits again in its old place. Says whether it was out. */
  release(seq: number): boolean {
    const message = this.#inFlight.get(seq)?.message;
    if (!message || !this.delete(seq)) return false;
    const at = this.#ready.findIndex((other) => other.seq > seq);
    this.#ready.splice(at < 0 ? this.#ready.length : at, 0, message);
    return true;
  }

  releaseExpired(now: number): void {
    for (const [seq, { until }] of this.#inFlight) if (until <= now) this.release(seq);
  }

  #readMore(): boolean {
    if (!this.#hasMore) return false;
    const more = this.#read(this.#readUpTo, MAX_BUFFERED);
    this.#ready.push(...more);
    this.#readUpTo = more.at(-1)?.seq ?? this.#readUpTo;
    this.#hasMore = more.length === MAX_BUFFERED;
    return more.length > 0;
  }
}
