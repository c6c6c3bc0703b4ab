/** Results keep the order of the input. */
export const mapConcurrent = async <T, R>(all: T[], atOnce: number, work: (one: T) => Promise<R>): Promise<R[]> => {
  const done: R[] = [];
  for (let at = 0; at < all.length; at += atOnce) {
    done.push(...(await Promise.all(all.slice(at, at + atOnce).map(work))));
  }
  return done;
};

type AwaitedAll<T extends readonly unknown[]> = { -readonly [K in keyof T]: Awaited<T[K]> };

/** Promise.all makes two promises for each value, also where none is one. */
export const awaitAll = <T extends readonly unknown[]>(values: [...T]): AwaitedAll<T> | Promise<AwaitedAll<T>> =>
  hasNoPromise<T>(values) ? values : Promise.all(values);

const hasNoPromise = <T extends readonly unknown[]>(values: [...T]): values is [...T] & AwaitedAll<T> =>
  !values.some((value) => value instanceof Promise);
