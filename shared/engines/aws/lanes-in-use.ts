import type { Clock } from '../../ports/clock.ts';
import type { Lane, Priority } from '../../ports/queues.ts';
import type { Item, Records, Ref } from '../../ports/records.ts';

/**
 * When something was last sent to the lanes of a domain, an agent or a capability. Asking an empty queue costs four times as much as reading
 * this, and most use one priority: a lane that nothing was sent to for long is not asked. A domain's normal lane always is.
 */
interface LanesInUse extends Item, Partial<Record<Priority, number>> {}

export interface LaneMemory {
  records: Records;
  clock: Clock;
  newId: () => string;
}

/** Longer than a message can wait: a task lives 7 days unclaimed. */
const IN_USE_MS = 8 * 86_400_000;
/** It is written anew this often at most. */
const FRESH_MS = 86_400_000;

const refOf = ({ project, kind, name }: Omit<Lane, 'priority'>): Ref<LanesInUse> => ({
  pk: `${project}#lanes#${kind}#${name}`,
  sk: 'in-use',
});

const isAlwaysInUse = ({ kind, priority }: Lane): boolean =>
  kind === 'relay' || (kind === 'domain' && priority === 'normal');

export class LanesInUseBook {
  readonly #memory: LaneMemory;
  /** What this instance wrote itself, and when. */
  readonly #written = new Map<string, number>();

  constructor(memory: LaneMemory) {
    this.#memory = memory;
  }

  /** Must be on record before whoever sent to the lane is answered. */
  async note(lanes: Lane[]): Promise<void> {
    const { records, clock, newId } = this.#memory;
    const now = clock.now();
    const unwritten = new Map(
      lanes
        .filter((lane) => !isAlwaysInUse(lane))
        .map((lane) => [`${refOf(lane).pk}#${lane.priority}`, lane] as const)
        .filter(([name]) => (this.#written.get(name) ?? 0) < now - FRESH_MS),
    );
    await Promise.all(
      [...unwritten].map(async ([name, lane]) => {
        await records.update(refOf(lane), { set: { [lane.priority]: now } }, newId(), 'orCreate');
        this.#written.set(name, now);
      }),
    );
  }

  /** Those of the lanes that may hold something. */
  async inUse(lanes: Lane[]): Promise<Lane[]> {
    const { records, clock } = this.#memory;
    const refs = [...new Map(lanes.map((lane) => [refOf(lane).pk, refOf(lane)])).values()];
    const books = new Map((await records.getMany(refs)).map((book) => [book.pk, book]));
    const since = clock.now() - IN_USE_MS;
    return lanes.filter((lane) => isAlwaysInUse(lane) || (books.get(refOf(lane).pk)?.[lane.priority] ?? 0) > since);
  }
}
