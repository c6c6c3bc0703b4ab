import type { Log } from './log.ts';

const MINUTE_MS = 60_000;
/** More of them than this in a minute lose the count of what was not written, and no line. */
const MAX_KEYS = 10_000;

interface LoggedLine {
  minute: number;
  /** How many of the same were not written since. */
  suppressed: number;
}

const loggedLines = new WeakMap<Log, Map<string, LoggedLine>>();

/** One line a minute about each, such as an agent, for what any caller can cause at will; the next line says how many were left out. */
export const logRateLimited = (
  { log, clock }: { log: Log; clock: { now(): number } },
  about: Readonly<Record<string, string>>,
  message: string,
  facts: Record<string, unknown>,
): void => {
  const lines = loggedLines.get(log) ?? new Map<string, LoggedLine>();
  loggedLines.set(log, lines);
  const key = [...Object.values(about), message].join('/');
  const minute = Math.floor(clock.now() / MINUTE_MS);
  const last = lines.get(key);
  if (last?.minute === minute) {
    last.suppressed += 1;
    return;
  }
  const [oldest] = lines.keys();
  lines.delete(key);
  if (oldest !== undefined && lines.size >= MAX_KEYS) lines.delete(oldest);
  lines.set(key, { minute, suppressed: 0 });
  log('warn', message, { ...about, ...facts, ...(last?.suppressed && { unwritten: last.suppressed }) });
};
