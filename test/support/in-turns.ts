/** A crowd at once would make a runner start an instance of the function for each of them. */
const AT_ONCE = 4;

/** What belongs to the preparation and is no race: a few at a time, with the answers in the order of what was asked. */
export const inTurns = async <T, R>(all: readonly T[], each: (one: T, index: number) => Promise<R>): Promise<R[]> => {
  const answers: R[] = [];
  const open = all.entries();
  const work = async (): Promise<void> => {
    for (const [index, one] of open) answers[index] = await each(one, index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return answers;
};
