/** A Lambda response holds 6 MB. */
export const MAX_RESPONSE_BYTES = 3 * 1024 * 1024;

/** The first of the items, as many as one response holds, and at least one. */
export const fitIntoResponse = <T>(items: readonly T[], toBytes: (item: T) => number): T[] => {
  let bytes = 0;
  return items.filter((item, index) => {
    bytes += toBytes(item);
    return index === 0 || bytes <= MAX_RESPONSE_BYTES;
  });
};
