import { ADMIN_KEY, getKeyOwner } from '../identity/auth/api-key.ts';
import type { Caller, RelayCaller } from '../identity/auth/authenticate.ts';
import type { Deps } from '../identity/deps.ts';
import { ParleyError } from '../kernel/errors.ts';
import { RecentMap } from '../kernel/recent-map.ts';
import type { Item, Ref } from '../ports/records.ts';

/** Short, so that nobody waits long for the next. */
const WINDOW_MS = 10_000;
const WINDOWS_PER_MINUTE = 60_000 / WINDOW_MS;
/** More callers than these are counted anew now and then. */
const MAX_CALLERS = 5000;
/** How much of the limit one process counts before it tells the others: twenty processes let pass twice the limit at most. */
const SHARE_OF_LIMIT = 1 / 20;
const MIN_SHARE = 10;

/** The calls of one caller in one window, in all processes. */
export interface SharedCallCount extends Item {
  sk: `calls#${number}`;
  calls: number;
}

interface CallWindow {
  window: number;
  calls: number;
  untold: number;
  isOver: boolean;
}

/**
 * As many calls of each agent and operator as the configuration allows. A process that is one of many tells the others how many it
 * had, in steps: a caller far below the limit costs nothing.
 */
export class CallLimiter {
  readonly #deps: Deps;
  readonly #limit: number;
  readonly #perMinute: number;
  readonly #step: number;
  readonly #windows = new RecentMap<string, CallWindow>(MAX_CALLERS);

  constructor(deps: Deps, perMinute: number, isShared: boolean) {
    this.#deps = deps;
    this.#perMinute = perMinute;
    this.#limit = Math.max(1, Math.ceil(perMinute / WINDOWS_PER_MINUTE));
    this.#step = isShared ? Math.max(MIN_SHARE, Math.floor(this.#limit * SHARE_OF_LIMIT)) : Number.POSITIVE_INFINITY;
  }

  /** Throws where it is one too many. Undefined where there is nothing to wait for. */
  countCall({ project, role, key }: Caller | RelayCaller): Promise<void> | undefined {
    // A relay calls for all its agents.
    if (!key || role === 'relay' || (role === 'admin' && key.apiKey.name === ADMIN_KEY)) return undefined;
    const now = this.#deps.clock.now();
    const owner = getKeyOwner(key.apiKey);
    const caller = this.#findWindow(`${project}/${owner}`, Math.floor(now / WINDOW_MS));
    if (caller.isOver || caller.calls >= this.#limit) throw this.#limitError(owner, now);
    caller.calls += 1;
    caller.untold += 1;
    return caller.untold >= this.#step ? this.#tellOthers(project, owner, caller) : undefined;
  }

  #findWindow(name: string, window: number): CallWindow {
    const known = this.#windows.get(name);
    if (known?.window === window) return known;
    const begun = { window, calls: 0, untold: 0, isOver: false };
    this.#windows.set(name, begun);
    return begun;
  }

  async #tellOthers(project: string, owner: string, caller: CallWindow): Promise<void> {
    const { untold, window } = caller;
    caller.untold = 0;
    const ref: Ref<SharedCallCount> = { pk: `${project}#calls#${owner}`, sk: `calls#${window}` };
    const change = { add: { calls: untold }, set: { expires: (window + 2) * WINDOW_MS } };
    try {
      const written = await this.#deps.records.update(ref, change, this.#deps.newId(), 'orCreate');
      caller.isOver = written.outcome === 'written' && written.after.calls >= this.#limit;
    } catch (error) {
      // Whoever calls is not to blame.
      this.#deps.log('warn', 'calls not counted', { owner, error: String(error) });
    }
  }

  #limitError(owner: string, now: number): ParleyError {
    const retryAfterSeconds = Math.ceil((WINDOW_MS - (now % WINDOW_MS)) / 1000);
    return new ParleyError('rate_limited', `${owner} made more than ${this.#perMinute} calls a minute.`, {
      retryable: true,
      details: { limit: this.#perMinute, retryAfterSeconds },
    });
  }
}
