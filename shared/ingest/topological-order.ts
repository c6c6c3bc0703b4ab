/** A message of a call with others, and how they speak of each other. */
export interface BatchedMessage {
  /** What it may be called. */
  ids: string[];
  /** The same, and what it is about. */
  correlationIds: string[];
  dependencyIds: string[];
}

interface TopologicalOrder {
  /** The places of the messages, each behind those that it waits for, and otherwise as they were sent. */
  order: number[];
  /** The names of those that wait for each other together with the one at the place; empty where that is in no such circle. */
  findCycleContaining(place: number): string[];
}

export const computeTopologicalOrder = (messages: BatchedMessage[]): TopologicalOrder => {
  const awaited = messages.map(({ dependencyIds }, place) => {
    if (dependencyIds.length === 0) return [];
    const isAwaited = ({ ids }: BatchedMessage): boolean => ids.some((name) => dependencyIds.includes(name));
    return messages.flatMap((other, at) => (at !== place && isAwaited(other) ? [at] : []));
  });
  const begun = new Set<number>();
  const order: number[] = [];
  const put = (place: number): void => {
    if (begun.has(place)) return;
    begun.add(place);
    awaited[place]?.forEach(put);
    order.push(place);
  };
  for (const place of messages.keys()) put(place);
  return {
    order,
    findCycleContaining: (place) =>
      [...collectDependencies(awaited, place)]
        .filter((other) => collectDependencies(awaited, other).has(place))
        .flatMap((other) => messages[other]?.ids[0] ?? []),
  };
};

/** What is waited for from there on, be it by what is waited for. */
const collectDependencies = (awaited: number[][], place: number, seen = new Set<number>()): Set<number> => {
  for (const other of awaited[place] ?? []) if (!seen.has(other)) collectDependencies(awaited, other, seen.add(other));
  return seen;
};
