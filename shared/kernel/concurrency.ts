/** Results keep the order of the input. */
export const mapConcurrent = async <T, R>(all: T[], atOnce: number, work: (one: T) => Promise<R>): Promise<R[]> => {
  const done: R[] = [];
  for (let at = 0; at < all.length; at += atOnce) {
    done.push(...(await Promise.all(all.slice(at, at + atOnce).map(work))));
  }
  return done;
};
