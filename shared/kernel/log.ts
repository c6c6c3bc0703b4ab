/** Never logs a key or a payload. */
export type Log = (level: 'info' | 'warn' | 'error', message: string, facts?: Record<string, unknown>) => void;

export const createJsonLog =
  (write: (line: string) => void, now: () => number): Log =>
  (level, message, facts) =>
    write(`${JSON.stringify({ time: new Date(now()).toISOString(), level, message, ...facts })}\n`);
