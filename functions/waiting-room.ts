import type { Deps } from '../shared/deps.ts';
import { absent, any, below, is } from '../shared/ports/conditions.ts';
import type { Item, Ref } from '../shared/ports/records.ts';

/** One of the places in which a call of a project may wait: a waiting function costs money, and so many may, and no more. */
interface Seat extends Item {
  /** Taken until then, in epoch milliseconds, should whoever took it die. */
  until: number;
}

/** Looking for a free one everywhere would cost more than the wait. */
const TRIES = 3;

/** A place to wait for so long, or none. */
export const takeSeat = async (
  { records, clock, newId }: Deps,
  project: string,
  seats: number,
  ms: number,
): Promise<{ leave: () => Promise<unknown> } | undefined> => {
  for (let tries = 0; tries < TRIES; tries++) {
    const ref: Ref<Seat> = { pk: `${project}#waiting#${Math.floor(Math.random() * seats)}`, sk: 'seat' };
    const [now, token] = [clock.now(), newId()];
    const free = any(absent('until'), below('until', now));
    const taken = await records.update(ref, { if: free, set: { until: now + ms } }, token, 'orCreate');
    const mine = { if: is('token', token), set: { until: 0 } };
    if (taken.outcome === 'written') return { leave: () => records.update(ref, mine, newId()) };
  }
  return undefined;
};
