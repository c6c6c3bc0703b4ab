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
  queue: 50,
};

/** Series by key, each a tally for each slot, which is known by the time of its start. */
export class SeriesTable {
  readonly #tallies: Map<SeriesKey, Map<number, Tally>> = new Map();
  readonly #sizes = new Map<string, number>();

  static fromStored(stored: StoredSeries[]): SeriesTable {
    const table = new SeriesTable();
    for (const [key, slots] of stored)
      for (const [slot, tally] of slots) table.#open(key, slot, Infinity, fromStoredTally(tally));
    return table;
  }

  toStored(): StoredSeries[] {
    return [...this.#tallies].map(([key, slots]) => [
      key,
      [...slots].map(([slot, tally]): [number, StoredTally] => [slot, toStoredTally(tally)]),
    ]);
  }

  count(keys: readonly SeriesKey[], slot: number, entry: TallyEntry): void {
    for (const key of keys) addEntry(this.#open(key, slot, getMaxSeries(key)), entry);
  }

  /** Of the same time. */
  merge(other: SeriesTable): void {
    for (const [key, slot, tally] of other.entries()) mergeTally(this.#open(key, slot, getMaxSeries(key)), tally);
  }

  *entries(): Generator<[SeriesKey, number, Tally]> {
    for (const [key, slots] of this.#tallies) for (const [slot, tally] of slots) yield [key, slot, tally];
  }

  /** What is too much for its dimension is counted in the series without a name. */
  #open(key: SeriesKey, slot: number, max: number, tally = createTally()): Tally {
    const dimension = getDimension(key);
    const isKnown = this.#tallies.has(key);
    const isTooMuch = !isKnown && key !== dimension && (this.#sizes.get(dimension) ?? 0) >= max;
    const counted = isTooMuch ? dimension : key;
    const slots = this.#tallies.get(counted) ?? new Map<number, Tally>();
    if (!this.#tallies.has(counted)) {
      this.#tallies.set(counted, slots);
      if (counted !== dimension) this.#sizes.set(dimension, (this.#sizes.get(dimension) ?? 0) + 1);
    }
    const known = slots.get(slot);
    if (known) return known;
    slots.set(slot, tally);
    return tally;
  }
}

export type StoredSeries = [key: SeriesKey, slots: [start: number, tally: StoredTally][]];

const getMaxSeries = (key: SeriesKey): number => {
  const dimension = DIMENSIONS.find((one) => key.startsWith(`${one}:`));
  return dimension ? MAX_SERIES[dimension] : 1;
};
