export interface QueuedMessage {
  seq: number;
  group: string;
  body: string;
}

export const MAX_SKIPPED = 1000;

/** Of one receive, over all of those who share the queue. */
export interface SkipBudget {
  left: number;
  isLeft: (message: QueuedMessage) => boolean;
}

interface BufferOptions {
  read: (after: number, limit: number) => QueuedMessage[];
  /** How many messages it may have in memory. */
  getRoom: () => number;
  /** The number of the first message that is stored; absent where none is. */
  first?: number | undefined;
}
/** A count that finds so many that are skipped may be too low. */
const MAX_LEFT_COUNTED = 25;

/** Messages in flight are known only in memory: a crash makes them available again. */
export class QueueBuffer {
  readonly #read: BufferOptions['read'];
  readonly #getRoom: BufferOptions['getRoom'];
  /** In order, without gaps. */
  readonly #ready: QueuedMessage[] = [];
  readonly #inFlight = new Map<number, { message: QueuedMessage; until: number }>();
  readonly #busyGroups = new Set<string>();
  #readUpTo = 0;
  #hasMore: boolean;

  constructor({ read, getRoom, first }: BufferOptions) {
    this.#read = read;
    this.#getRoom = getRoom;
    this.#hasMore = first !== undefined;
    this.#readUpTo = (first ?? 1) - 1;
  }

  add(message: QueuedMessage): void {
    if (message.seq <= this.#readUpTo) return;
    if (this.#hasMore || this.#ready.length >= this.#getRoom()) {
      this.#hasMore = true;
      return;
    }
    this.#ready.push(message);
    this.#readUpTo = message.seq;
  }

  take(until: number, budget: SkipBudget): QueuedMessage | undefined {
    for (let at = 0; budget.left > 0 && (at < this.#ready.length || this.#readMore()); at++) {
      const message = this.#ready[at];
      if (!message || this.#busyGroups.has(message.group)) continue;
      if (budget.isLeft(message)) {
        budget.left -= 1;
        continue;
      }
      this.#ready.splice(at, 1);
      this.#inFlight.set(message.seq, { message, until });
      this.#busyGroups.add(message.group);
      return message;
    }
    return undefined;
  }

  /** Looks at the first messages only. */
  count(max: number, isLeft: (message: QueuedMessage) => boolean): number {
    while (this.#ready.length < max + MAX_LEFT_COUNTED && this.#readMore());
    const first = this.#ready.slice(0, max + MAX_LEFT_COUNTED);
    return Math.min(max, first.filter((message) => !isLeft(message)).length);
  }

  /** Returns true if the message was in flight. */
  delete(seq: number): boolean {
    const out = this.#inFlight.get(seq);
    if (!out) return false;
    this.#inFlight.delete(seq);
    this.#busyGroups.delete(out.message.group);
    return true;
  }

  /** Numbers are shared by all queues. */
  get firstSeq(): number {
    return this.#ready[0]?.seq ?? (this.#hasMore ? this.#readUpTo + 1 : Infinity);
  }

  get isEmpty(): boolean {
    return this.#ready.length === 0 && this.#inFlight.size === 0 && !this.#hasMore;
  }

  /** True if the message was in flight. */
  release(seq: number): boolean {
    const message = this.#inFlight.get(seq)?.message;
    if (!message || !this.delete(seq)) return false;
    const at = this.#ready.findIndex((other) => other.seq > seq);
    this.#ready.splice(at < 0 ? this.#ready.length : at, 0, message);
    return true;
  }

  get inFlightCount(): number {
    return this.#inFlight.size;
  }

  /** Returns how many are still in flight. */
  releaseExpired(now: number): number {
    for (const [seq, { until }] of this.#inFlight) if (until <= now) this.release(seq);
    return this.#inFlight.size;
  }

  #readMore(): boolean {
    if (!this.#hasMore) return false;
    const room = this.#getRoom();
    const more = this.#read(this.#readUpTo, room);
    this.#ready.push(...more);
    this.#readUpTo = more.at(-1)?.seq ?? this.#readUpTo;
    this.#hasMore = more.length === room;
    return more.length > 0;
  }
}
