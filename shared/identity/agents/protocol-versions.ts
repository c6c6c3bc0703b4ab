import type { Agent } from './agent.ts';

const FIRST_VERSION = '1.0.0';

export const getProtocolVersions = ({ versions }: Agent): string[] => (versions?.length ? versions : [FIRST_VERSION]);

/** `1.0.0`, `1.0`, `v1r3`. */
const VERSION = /^v?(\d{1,6})[.r](\d{1,6})(?:\.(\d{1,6}))?$/;

/** `1.0` equals `1.0.0`; an invalid version equals none. */
const parseVersion = (version: string): number[] | undefined => {
  const [, major, minor, patch] = VERSION.exec(version) ?? [];
  return major === undefined ? undefined : [major, minor, patch ?? 0].map(Number);
};

const compareVersions = (a: string, b: string): number => {
  const [left = [], right = []] = [parseVersion(a), parseVersion(b)];
  const at = left.findIndex((number, index) => number !== right[index]);
  return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
};

export const pickHighestCommonVersion = ([first = [], ...others]: string[][]): string | undefined =>
  first
    .filter((version) => parseVersion(version) !== undefined)
    .filter((version) =>
      others.every((list) => list.some((other) => parseVersion(other) && compareVersions(version, other) === 0)),
    )
    .toSorted(compareVersions)
    .at(-1);
