import type { Clock } from '../../ports/clock.ts';
import { type ApiKey, computeKeyEnd } from './api-key.ts';

interface KeyWatcher {
  keyHash: string;
  onEnd: () => void;
}

interface WatchedOwner {
  watchers: Set<KeyWatcher>;
  load: LoadKeys;
  /** Of the newest check: an older one that is still reading sets no alarm. */
  check: number;
  /** For those who begin to watch soon after. Absent while they are read. */
  known?: CachedKeys;
  alarm?: { at: number; cancel: () => void };
}

/** `until` in epoch milliseconds: then they are read again. */
export interface CachedKeys {
  keys: readonly ApiKey[];
  until: number;
}

type LoadKeys = () => Promise<CachedKeys>;

const RECHECK_MS = 1000;

/**
 * Notifies at once if this process ended the key, and when it expires. The keys of an owner are read when their cache entry
 * expires, once for all watchers.
 */
export class KeyWatchers {
  readonly #clock: Clock;
  readonly #byOwner = new Map<string, WatchedOwner>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `onEnd` once. Returns an unwatch function. */
  watch(owner: string, watcher: KeyWatcher, load: LoadKeys): () => void {
    const watched = this.#byOwner.get(owner) ?? { watchers: new Set(), load, check: 0 };
    this.#byOwner.set(owner, watched);
    watched.watchers.add(watcher);
    if (!this.#isKnownValid(owner, watched, watcher)) this.#checkKeys(owner, watched);
    return () => {
      watched.watchers.delete(watcher);
      if (watched.watchers.size > 0 || this.#byOwner.get(owner) !== watched) return;
      this.#byOwner.delete(owner);
      watched.alarm?.cancel();
    };
  }

  /** Costs the same however many watch. */
  #isKnownValid(owner: string, watched: WatchedOwner, { keyHash }: KeyWatcher): boolean {
    const { known, alarm } = watched;
    const now = this.#clock.now();
    if (!known || known.until <= now) return false;
    const end = computeKeyEnd(known.keys, keyHash);
    if (end <= now) return false;
    if (end < (alarm?.at ?? Number.POSITIVE_INFINITY)) this.#setAlarm(owner, watched, end);
    return true;
  }

  /** Those with the hashes end at once, and the others when their keys do. */
  end(owner: string, keyHashes: 'all' | readonly string[]): void {
    const watched = this.#byOwner.get(owner);
    if (!watched) return;
    this.#endWhere(watched, ({ keyHash }) => keyHashes === 'all' || keyHashes.includes(keyHash));
    this.#checkKeys(owner, watched);
  }

  #endWhere({ watchers }: WatchedOwner, isEnded: (watcher: KeyWatcher) => boolean): void {
    for (const watcher of watchers) {
      if (!isEnded(watcher)) continue;
      watchers.delete(watcher);
      watcher.onEnd();
    }
  }

  #checkKeys(owner: string, watched: WatchedOwner): void {
    watched.check += 1;
    const { check } = watched;
    watched.alarm?.cancel();
    watched.alarm = undefined;
    watched.known = undefined;
    const isCurrent = (): boolean => watched.check === check && this.#byOwner.get(owner) === watched;
    watched.load().then(
      ({ keys, until }) => {
        if (watched.check !== check) return;
        const now = this.#clock.now();
        this.#endWhere(watched, ({ keyHash }) => computeKeyEnd(keys, keyHash) <= now);
        if (!isCurrent()) return;
        watched.known = { keys, until: Math.min(until, now + RECHECK_MS) };
        const ends = [...watched.watchers].map(({ keyHash }) => computeKeyEnd(keys, keyHash));
        this.#setAlarm(owner, watched, Math.min(until, ...ends));
      },
      () => {
        if (isCurrent()) this.#setAlarm(owner, watched, this.#clock.now() + RECHECK_MS);
      },
    );
  }

  #setAlarm(owner: string, watched: WatchedOwner, at: number): void {
    watched.alarm?.cancel();
    watched.alarm = undefined;
    if (at === Number.POSITIVE_INFINITY) return;
    watched.alarm = { at, cancel: this.#clock.setAlarm(at, () => this.#checkKeys(owner, watched)) };
  }
}
