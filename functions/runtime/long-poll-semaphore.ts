import { hash } from 'node:crypto';
import type { Deps } from '../../shared/identity/deps.ts';
import { equals, lessThan, notExists, or } from '../../shared/ports/conditions.ts';
import type { Item, Ref } from '../../shared/ports/records.ts';

/** One of the slots for waiting calls of a project: a waiting function costs money, so their number is limited. */
interface LongPollSlot extends Item {
  /** Taken until then, in epoch milliseconds, should whoever took it die. */
  until: number;
}

/** Looking for a free one everywhere would cost more than the wait. */
const MAX_ATTEMPTS = 3;

/** The owner of the key, and how many slots there are: for the project, and for this owner. */
export interface SlotRequest {
  project: string;
  owner: string;
  slots: number;
  ownSlots: number;
}

/** A slot for so long, or none. */
export const acquireSlot = async (
  { records, clock, newId }: Deps,
  { project, owner, slots, ownSlots }: SlotRequest,
  ms: number,
): Promise<{ leave: () => Promise<unknown> } | undefined> => {
  // Each owner picks among its own slots only, next to each other, so that it cannot take all and no further write counts them.
  const first = Number.parseInt(hash('sha256', owner, 'hex').slice(0, 8), 16);
  for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
    const slot = (first + Math.floor(Math.random() * Math.min(slots, ownSlots))) % slots;
    const ref: Ref<LongPollSlot> = { pk: `${project}#long-poll#${slot}`, sk: 'slot' };
    const [now, token] = [clock.now(), newId()];
    const free = or(notExists('until'), lessThan('until', now));
    const taken = await records.update(ref, { if: free, set: { until: now + ms } }, token, 'orCreate');
    const mine = { if: equals('token', token), set: { until: 0 } };
    if (taken.outcome === 'written') return { leave: () => records.update(ref, mine, newId()) };
  }
  return undefined;
};
