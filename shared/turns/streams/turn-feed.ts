import { setTimeout as pause } from 'node:timers/promises';
import type { Deps } from '../../identity/deps.ts';
import { type Turn, turnRef } from '../../model/turn.ts';
import type { Records } from '../../ports/records.ts';
import { COALESCE_MS, Waiters } from '../../storage/waiters.ts';
import { listChunksFrom, type ReceivedChunk, toBucketStart } from './chunk.ts';

/** A turn with some of its chunks. */
interface TurnSnapshot {
  turn: Turn | undefined;
  received: ReceivedChunk[];
  hasMore: boolean;
}

const FEED_RECHECK_MS = 15_000;

/** One read serves all readers of a turn from the same time on. */
class TurnFeed {
  readonly #deps: Deps;
  readonly #project: string;
  readonly #id: string;
  readonly #waiters: Waiters;
  /** By start time, until something changes. */
  readonly #reads = new Map<number, Promise<TurnSnapshot>>();
  readonly #stop = new AbortController();
  #subscribers = 0;
  #version = 0;

  constructor(deps: Deps, project: string, id: string) {
    this.#deps = deps;
    this.#project = project;
    this.#id = id;
    this.#waiters = new Waiters(deps.clock);
  }

  /** Rises with possible changes. */
  get version(): number {
    return this.#version;
  }

  /** Returns a function that unsubscribes and says whether that was the last. */
  subscribe(): () => boolean {
    this.#subscribers += 1;
    if (this.#subscribers === 1) this.#watch().catch(() => {});
    return () => {
      this.#subscribers -= 1;
      if (this.#subscribers === 0) this.#stop.abort();
      return this.#subscribers === 0;
    };
  }

  read(from: number): Promise<TurnSnapshot> {
    const slot = toBucketStart(from);
    const read = this.#reads.get(slot) ?? this.#readFrom(from);
    this.#reads.set(slot, read);
    read.catch(() => this.#reads.get(slot) === read && this.#reads.delete(slot));
    return read;
  }

  waitForChange(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#waiters.wait(ms, signal);
  }

  async #readFrom(from: number): Promise<TurnSnapshot> {
    const turn = await this.#deps.records.get(turnRef(this.#project, this.#id));
    return turn ? { turn, ...(await listChunksFrom(this.#deps, turn, from)) } : { turn, received: [], hasMore: false };
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stop;
    const watcher = this.#deps.records.watch(turnRef(this.#project, this.#id).pk);
    try {
      while (!signal.aborted) {
        await watcher.next(FEED_RECHECK_MS, signal);
        this.#version += 1;
        this.#reads.clear();
        this.#waiters.wakeAll();
        await pause(COALESCE_MS, undefined, { signal });
      }
    } finally {
      watcher.close();
    }
  }
}

const feeds = new WeakMap<Records, Map<string, TurnFeed>>();

export const subscribeToTurn = (deps: Deps, project: string, id: string): { feed: TurnFeed; leave: () => void } => {
  const byTurn = feeds.get(deps.records) ?? new Map<string, TurnFeed>();
  feeds.set(deps.records, byTurn);
  const name = `${project}/${id}`;
  const feed = byTurn.get(name) ?? new TurnFeed(deps, project, id);
  byTurn.set(name, feed);
  const leave = feed.subscribe();
  return { feed, leave: () => leave() && byTurn.get(name) === feed && byTurn.delete(name) };
};
