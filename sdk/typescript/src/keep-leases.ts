import { ParleyError, type TaskAborted } from './errors.ts';
import type { Transport } from './transport.ts';

/** A renewal may be late twice before the lease ends. */
const RENEWALS_PER_LEASE = 3;
const MIN_TICK_MS = 50;

export interface HeldTask {
  id: string;
  attempt: number;
  /** How long the lease is from now on. */
  leaseMs: number;
  abort(reason: TaskAborted['reason']): void;
}

interface Lease {
  held: HeldTask;
  /** By a clock that nobody sets. */
  until: number;
  renewAt: number;
  isRenewing: boolean;
}

/**
 * Renews the leases of what runs, with one timer for all. A handler whose lease may have ended is aborted though the server is
 * silent: another worker may have the task by then.
 */
export class LeaseKeeper {
  readonly #transport: Transport;
  readonly #onError: (error: unknown) => void;
  readonly #leases = new Set<Lease>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(transport: Transport, onError: (error: unknown) => void) {
    this.#transport = transport;
    this.#onError = onError;
  }

  /** Returns a function that lets go of it. */
  keep(held: HeldTask): () => void {
    const lease: Lease = { held, until: 0, renewAt: 0, isRenewing: false };
    extend(lease, performance.now());
    this.#leases.add(lease);
    this.#schedule(lease.renewAt);
    return () => {
      this.#leases.delete(lease);
      if (this.#leases.size > 0) return;
      clearTimeout(this.#timer);
      this.#timerAt = Number.POSITIVE_INFINITY;
    };
  }

  /** Learns on the way whether each task is still this worker's. */
  renewAll(): void {
    for (const lease of this.#leases) this.#renew(lease);
  }

  #schedule(at: number): void {
    if (at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#tick(), Math.max(MIN_TICK_MS, at - performance.now()));
  }

  #tick(): void {
    const now = performance.now();
    this.#timerAt = Number.POSITIVE_INFINITY;
    for (const lease of this.#leases) {
      if (lease.until <= now) lease.held.abort('lost');
      else if (lease.renewAt <= now) this.#renew(lease);
      if (this.#leases.has(lease)) this.#schedule(lease.isRenewing ? lease.until : lease.renewAt);
    }
  }

  async #renew(lease: Lease): Promise<void> {
    if (lease.isRenewing) return;
    lease.isRenewing = true;
    const { id, attempt, abort } = lease.held;
    const begun = performance.now();
    try {
      const path = `/v1/tasks/${encodeURIComponent(id)}/renew`;
      await this.#transport.call('POST', path, { body: { attempt }, retryForMs: Math.max(0, lease.until - begun) });
      extend(lease, begun);
    } catch (error) {
      if (!this.#leases.has(lease)) return;
      if (isLost(error)) abort(error.code === 'cancelled' ? 'cancelled' : 'lost');
      else this.#onError(error);
    } finally {
      lease.isRenewing = false;
      if (this.#leases.has(lease)) this.#schedule(lease.renewAt);
    }
  }
}

/** Counted from before the call, so that the server's lease is never shorter. */
const extend = (lease: Lease, from: number): void => {
  lease.until = from + lease.held.leaseMs;
  lease.renewAt = from + lease.held.leaseMs / RENEWALS_PER_LEASE;
};

const LOST_CODES = [
  'not_holder',
  'stale_attempt',
  'task_ended',
  'task_expired',
  'cancelled',
  'task_not_found',
  'task_waiting',
];

/** What the worker says about the task counts no more. */
export const isLost = (error: unknown): error is ParleyError =>
  error instanceof ParleyError && LOST_CODES.includes(error.code);
