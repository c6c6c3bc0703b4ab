import type { Clock } from '../../ports/clock.ts';

interface KeyWatcher {
  keyHash: string;
  onEnd: () => void;
}

interface WatchedOwner {
  watchers: Set<KeyWatcher>;
  cancel?: () => void;
}

/** `until` in epoch milliseconds. */
export interface CachedKey {
  keyHash: string | undefined;
  until: number;
}

type LoadKey = () => Promise<CachedKey>;

const RECHECK_MS = 1000;

/**
 * Notifies at once if this process ended the key. Otherwise the key is read when its cache entry expires, once for all
 * watchers.
 */
export class KeyWatchers {
  readonly #clock: Clock;
  readonly #byOwner = new Map<string, WatchedOwner>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `onEnd` once. Returns an unwatch function. */
  watch(owner: string, keyHash: string, onEnd: () => void, look?: LoadKey): () => void {
    const watched = this.#byOwner.get(owner) ?? this.#startWatching(owner, look);
    const watcher = { keyHash, onEnd };
    watched.watchers.add(watcher);
    return () => {
      watched.watchers.delete(watcher);
      if (watched.watchers.size > 0 || this.#byOwner.get(owner) !== watched) return;
      this.#byOwner.delete(owner);
      watched.cancel?.();
    };
  }

  endExcept(owner: string, but?: string): void {
    const { watchers } = this.#byOwner.get(owner) ?? {};
    for (const watcher of watchers ?? []) {
      if (watcher.keyHash === but) continue;
      watchers?.delete(watcher);
      watcher.onEnd();
    }
  }

  #startWatching(owner: string, look: LoadKey | undefined): WatchedOwner {
    const watched: WatchedOwner = { watchers: new Set() };
    this.#byOwner.set(owner, watched);
    if (look) this.#checkKey(owner, watched, look);
    return watched;
  }

  #checkKey(owner: string, watched: WatchedOwner, look: LoadKey): void {
    const scheduleCheck = (at: number): void => {
      if (this.#byOwner.get(owner) !== watched) return;
      watched.cancel = this.#clock.setAlarm(at, () => this.#checkKey(owner, watched, look));
    };
    look().then(
      ({ keyHash, until }) => {
        this.endExcept(owner, keyHash);
        scheduleCheck(until);
      },
      () => scheduleCheck(this.#clock.now() + RECHECK_MS),
    );
  }
}
