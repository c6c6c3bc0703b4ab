import type { QueueKey } from '../../ports/queues.ts';
import { QueueBuffer, type QueuedMessage, type SkipBudget } from './queue-buffer.ts';

interface Lane {
  name: string;
  buffer: QueueBuffer;
  /** When it was served last, or came. Those who share the queue are in this order. */
  turn: number;
}

/** Messages that all lanes of a queue have in memory together, and each at least. */
const MAX_BUFFERED = 1024;
const MIN_BUFFERED = 8;

type ReadMessages = (lane: string, after: number, limit: number) => QueuedMessage[];

/** One queue, shared by requesters in turn. The order of each is kept. */
export class FairQueue {
  readonly queueKey: QueueKey;
  readonly #read: ReadMessages;
  readonly #lanes = new Map<string, Lane>();
  /** With messages in flight. */
  readonly #busy = new Set<Lane>();
  /** How many messages are stored. */
  size = 0;

  constructor(queueKey: QueueKey, read: ReadMessages) {
    this.queueKey = queueKey;
    this.#read = read;
  }

  openLane(name: string, turn: number, first?: number): Lane {
    const known = this.#lanes.get(name);
    if (known) return known;
    const buffer = new QueueBuffer({
      read: (after, limit) => this.#read(name, after, limit),
      getRoom: () => Math.max(MIN_BUFFERED, Math.floor(MAX_BUFFERED / this.#lanes.size)),
      first,
    });
    const lane = { name, buffer, turn };
    this.#lanes.set(name, lane);
    return lane;
  }

  /** Those who wait longest for their turn first. */
  get lanes(): Iterator<Lane> {
    return this.#lanes.values();
  }

  take(lane: Lane, until: number, budget: SkipBudget): QueuedMessage | undefined {
    const message = lane.buffer.take(until, budget);
    if (message) this.#busy.add(lane);
    return message;
  }

  moveToBack(name: string, turn: number): void {
    const lane = this.#lanes.get(name);
    if (!lane) return;
    this.#lanes.delete(name);
    lane.turn = turn;
    this.#lanes.set(name, lane);
  }

  /** Returns true if the message was in flight. */
  delete(name: string, seq: number): boolean {
    return this.#end(name, (buffer) => buffer.delete(seq));
  }

  release(name: string, seq: number): boolean {
    return this.#end(name, (buffer) => buffer.release(seq));
  }

  releaseExpired(now: number): void {
    for (const lane of this.#busy) if (lane.buffer.releaseExpired(now) === 0) this.#busy.delete(lane);
  }

  count(max: number, isLeft: (message: QueuedMessage) => boolean): number {
    let count = 0;
    for (const { buffer } of this.#lanes.values()) {
      count += buffer.count(max - count, isLeft);
      if (count >= max) break;
    }
    return count;
  }

  /** All of them where there are at most `max`, otherwise the first few. */
  listOldest(max: number, few: number): QueuedMessage[] {
    if (this.size === 0) return [];
    const isWhole = this.size <= max;
    const lanes = [...this.#lanes.values()].toSorted((a, b) => a.buffer.firstSeq - b.buffer.firstSeq);
    const limit = isWhole ? max : few;
    return lanes
      .slice(0, isWhole ? lanes.length : few)
      .flatMap(({ name }) => this.#read(name, 0, limit))
      .toSorted((a, b) => a.seq - b.seq)
      .slice(0, limit);
  }

  get isEmpty(): boolean {
    return this.#lanes.size === 0;
  }

  #end(name: string, act: (buffer: QueueBuffer) => boolean): boolean {
    const lane = this.#lanes.get(name);
    const isDone = lane !== undefined && act(lane.buffer);
    if (lane && lane.buffer.inFlightCount === 0) this.#busy.delete(lane);
    // A requester is there as long as it has messages.
    if (lane?.buffer.isEmpty) this.#lanes.delete(name);
    return isDone;
  }
}

/** The next message of the requester who waits longest for its turn in any of the queues, which are parts of one. */
export const takeInTurn = (
  queues: readonly FairQueue[],
  until: number,
  budget: SkipBudget,
): { message: QueuedMessage; from: FairQueue; lane: string } | undefined => {
  const heads = queues.flatMap((queue) => {
    const lanes = queue.lanes;
    const { value, done } = lanes.next();
    return done ? [] : [{ queue, lanes, lane: value }];
  });
  while (heads.length > 0) {
    let first = heads[0];
    for (const head of heads) if (first && isBefore(head.lane, first.lane)) first = head;
    if (!first) return undefined;
    const message = first.queue.take(first.lane, until, budget);
    if (message) return { message, from: first.queue, lane: first.lane.name };
    if (budget.left <= 0) return undefined;
    const { value, done } = first.lanes.next();
    if (done) heads.splice(heads.indexOf(first), 1);
    else first.lane = value;
  }
  return undefined;
};

/** A requester has one turn for all parts of a queue, and its oldest message comes first. */
const isBefore = (a: Lane, b: Lane): boolean =>
  a.turn === b.turn ? a.buffer.firstSeq < b.buffer.firstSeq : a.turn < b.turn;
