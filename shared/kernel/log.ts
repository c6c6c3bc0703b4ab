/** Never logs a key or a payload. */
export type Log = (level: 'info' | 'warn' | 'error', message: string, facts?: Record<string, unknown>) => void;

export const createJsonLog =
  (write: (line: string) => void, now: () => number): Log =>
  (level, message, facts) =>
    write(`${JSON.stringify({ time: new Date(now()).toISOString(), level, message, ...facts })}\n`);

const MINUTE_MS = 60_000;
/** Beyond this, counts are lost, but no lines. */
const MAX_KEYS = 10_000;

interface LoggedLine {
  minute: number;
  suppressed: number;
}

const loggedLines = new WeakMap<Log, Map<string, LoggedLine>>();

/** One line a minute per key, because callers can cause these at will. Tells whether this is that line. */
export const logRateLimited = (
  { log, clock }: { log: Log; clock: { now(): number } },
  about: Readonly<Record<string, string>>,
  message: string,
  facts: Record<string, unknown>,
): boolean => {
  const lines = loggedLines.get(log) ?? new Map<string, LoggedLine>();
  loggedLines.set(log, lines);
  const key = [...Object.values(about), message].join('/');
  const minute = Math.floor(clock.now() / MINUTE_MS);
  const last = lines.get(key);
  if (last?.minute === minute) {
    last.suppressed += 1;
    return false;
  }
  const [oldest] = lines.keys();
  lines.delete(key);
  if (oldest !== undefined && lines.size >= MAX_KEYS) lines.delete(oldest);
  lines.set(key, { minute, suppressed: 0 });
  log('warn', message, { ...about, ...facts, ...(last?.suppressed && { unwritten: last.suppressed }) });
  return true;
};
