import {
  addEntry,
  createTally,
  fromStoredTally,
  mergeTally,
  type StoredTally,
  type Tally,
  type TallyEntry,
  toStoredTally,
} from './tally.ts';

/** What is counted by. A pair is a requester and a holder. */
export const DIMENSIONS = ['domain', 'capability', 'requester', 'holder', 'pair', 'queue'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** `dimension:name`. Without a name it is what exceeds the limit of its dimension. */
export type SeriesKey = string;
export const TOTAL: SeriesKey = 'total';
export const formatSeriesKey = (dimension: Dimension, name: string): SeriesKey => `${dimension}:${name}`;
const getDimension = (key: SeriesKey): string => key.slice(0, key.indexOf(':') + 1);

/** In one record. */
const MAX_SERIES: Record<Dimension, number> = {
  domain: 50,
  capability: 50,
  requester: 50,
  holder: 50,
  pair: 100,
  queue: 200,
};

/** Series by key, each a tally for each slot, which is known by the time of its start. */
export class SeriesTable {
  readonly #tallies: Map<SeriesKey, Map<number, Tally>> = new Map();
  readonly #sizes = new Map<string, number>();

  static fromStored(stored: StoredSeries[]): SeriesTable {
    const table = new SeriesTable();
    for (const [key, slots] of stored) {
      const tallies = table.#addSeries(key, Infinity);
      for (const [slot, tally] of slots) tallies.set(slot, fromStoredTally(tally));
    }
    return table;
  }

  toStored(): StoredSeries[] {
    return [...this.#tallies].map(([key, slots]) => [
      key,
      [...slots].map(([slot, tally]): [number, StoredTally] => [slot, toStoredTally(tally)]),
    ]);
  }

  count(keys: readonly SeriesKey[], slot: number, entry: TallyEntry): void {
    for (const key of keys) addEntry(this.#open(key, slot), entry);
  }

  merge(other: SeriesTable, toSlot: (slot: number) => number = (slot) => slot): void {
    for (const [key, slot, tally] of other.entries()) mergeTally(this.#open(key, toSlot(slot)), tally);
  }

  *entries(): Generator<[SeriesKey, number, Tally]> {
    for (const [key, slots] of this.#tallies) for (const [slot, tally] of slots) yield [key, slot, tally];
  }

  #open(key: SeriesKey, slot: number): Tally {
    const slots = this.#tallies.get(key) ?? this.#addSeries(key, getMaxSeries(key));
    const known = slots.get(slot);
    if (known) return known;
    const tally = createTally();
    slots.set(slot, tally);
    return tally;
  }

  /** What is too much for its dimension is counted in the series without a name. */
  #addSeries(key: SeriesKey, max: number): Map<number, Tally> {
    const dimension = getDimension(key);
    const size = this.#sizes.get(dimension) ?? 0;
    const isTooMuch = key !== dimension && size >= max;
    const counted = isTooMuch ? dimension : key;
    const known = this.#tallies.get(counted);
    if (known) return known;
    const slots = new Map<number, Tally>();
    this.#tallies.set(counted, slots);
    if (counted !== dimension) this.#sizes.set(dimension, size + 1);
    return slots;
  }
}

export type StoredSeries = [key: SeriesKey, slots: [start: number, tally: StoredTally][]];

const getMaxSeries = (key: SeriesKey): number => {
  const dimension = DIMENSIONS.find((one) => key.startsWith(`${one}:`));
  return dimension ? MAX_SERIES[dimension] : 1;
};
