/** A message of a call with several, and its references. */
export interface BatchedMessage {
  ids: string[];
  /** The same, and the message or task that it is about. */
  correlationIds: string[];
  dependencyIds: string[];
}

interface TopologicalOrder {
  /** The indexes of the messages: each after those that it waits for, otherwise in the order of the call. */
  order: number[];
  /** The ids of the messages in a cycle with this one; empty if there is none. */
  findCycleContaining(index: number): string[];
}

export const computeTopologicalOrder = (messages: BatchedMessage[]): TopologicalOrder => {
  const awaited = messages.map(({ dependencyIds }, index) => {
    if (dependencyIds.length === 0) return [];
    const isAwaited = ({ ids }: BatchedMessage): boolean => ids.some((name) => dependencyIds.includes(name));
    return messages.flatMap((other, at) => (at !== index && isAwaited(other) ? [at] : []));
  });
  const begun = new Set<number>();
  const order: number[] = [];
  const visit = (index: number): void => {
    if (begun.has(index)) return;
    begun.add(index);
    awaited[index]?.forEach(visit);
    order.push(index);
  };
  for (const index of messages.keys()) visit(index);
  return {
    order,
    findCycleContaining: (index) =>
      [...collectDependencies(awaited, index)]
        .filter((other) => collectDependencies(awaited, other).has(index))
        .flatMap((other) => messages[other]?.ids[0] ?? []),
  };
};

/** Transitive. */
const collectDependencies = (awaited: number[][], index: number, seen = new Set<number>()): Set<number> => {
  for (const other of awaited[index] ?? []) if (!seen.has(other)) collectDependencies(awaited, other, seen.add(other));
  return seen;
};
