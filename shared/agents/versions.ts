import type { Agent } from './agent.ts';

/** Every protocol here is in its first version. */
const FIRST = '1.0.0';

export const spokenBy = ({ versions }: Agent): string[] => (versions?.length ? versions : [FIRST]);

/** As the protocols write them: `1.0.0`, `1.0`, `v1r3`. */
const VERSION = /^v?(\d{1,6})[.r](\d{1,6})(?:\.(\d{1,6}))?$/;

/** `1.0` and `1.0.0` are the same; what is no version is like none other. */
const numbersOf = (version: string): number[] | undefined => {
  const [, major, minor, patch] = VERSION.exec(version) ?? [];
  return major === undefined ? undefined : [major, minor, patch ?? 0].map(Number);
};

const compared = (a: string, b: string): number => {
  const [left = [], right = []] = [numbersOf(a), numbersOf(b)];
  const at = left.findIndex((number, index) => number !== right[index]);
  return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
};

/** The highest version that is in all of the lists. */
export const highestCommon = ([first = [], ...others]: string[][]): string | undefined =>
  first
    .filter((version) => numbersOf(version) !== undefined)
    .filter((version) =>
      others.every((list) => list.some((other) => numbersOf(other) && compared(version, other) === 0)),
    )
    .toSorted(compared)
    .at(-1);
