/** Calls during a running send share the next one. A lone call does not wait. */
export const coalesce = <T>(send: (all: T[]) => Promise<void>): ((some: T[]) => Promise<void>) => {
  let underWay: Promise<void> | undefined;
  let next: { all: T[]; sent: Promise<void> } | undefined;
  const startSend = (all: T[]): Promise<void> => {
    underWay = send(all).finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
  return (some) => {
    if (!underWay) return startSend(some);
    if (next) {
      next.all.push(...some);
      return next.sent;
    }
    const all = [...some];
    const sendNext = (): Promise<void> => {
      next = undefined;
      return startSend(all);
    };
    next = { all, sent: underWay.then(sendNext, sendNext) };
    return next.sent;
  };
};
