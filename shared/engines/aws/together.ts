/**
 * Makes many small sends few: what is to be sent while a send is under way goes together with the next one. A send that is
 * alone does not wait.
 */
export const together = <T>(send: (all: T[]) => Promise<void>): ((some: T[]) => Promise<void>) => {
  let underWay: Promise<void> | undefined;
  let next: { all: T[]; sent: Promise<void> } | undefined;
  const begin = (all: T[]): Promise<void> => {
    underWay = send(all).finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
  return (some) => {
    if (!underWay) return begin(some);
    if (next) {
      next.all.push(...some);
      return next.sent;
    }
    const all = [...some];
    const afterThis = (): Promise<void> => {
      next = undefined;
      return begin(all);
    };
    next = { all, sent: underWay.then(afterThis, afterThis) };
    return next.sent;
  };
};
