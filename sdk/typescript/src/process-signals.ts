interface ProcessSignals {
  once(name: string, listener: () => void): unknown;
  removeListener(name: string, listener: () => void): unknown;
}

const SIGNALS = ['SIGINT', 'SIGTERM'];

/** Where there are any: browsers and edge runtimes have none. Returns a function that lets go of them. */
export const catchSignals = (stop: () => void): (() => void) => {
  const { process } = globalThis as { process?: Partial<ProcessSignals> };
  if (!process?.once || !process.removeListener) return () => {};
  const signals = process as ProcessSignals;
  for (const name of SIGNALS) signals.once(name, stop);
  return () => {
    for (const name of SIGNALS) signals.removeListener(name, stop);
  };
};
