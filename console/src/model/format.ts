const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const formatDuration = (ms: number): string => {
  const size = Math.abs(ms);
  if (size < 1000) return `${Math.round(ms)} ms`;
  if (size < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (size < MINUTE) return `${Math.round(ms / 1000)} s`;
  if (size < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.round((ms % MINUTE) / 1000)} s`;
  if (size < DAY) return `${Math.floor(ms / HOUR)} h ${Math.round((ms % HOUR) / MINUTE)} min`;
  return `${Math.floor(ms / DAY)} d ${Math.round((ms % DAY) / HOUR)} h`;
};

/** One unit, for the ticks of an axis: they stand at round numbers of milliseconds. */
export const formatAxis = (ms: number): string => {
  if (ms < 1000) return `${ms} ms`;
  return ms < 10 * MINUTE ? `${Number((ms / 1000).toFixed(1))} s` : `${Number((ms / MINUTE).toFixed(1))} min`;
};

/** One unit: what a row has room for. */
export const formatAge = (ms: number): string => {
  const size = Math.max(0, ms);
  if (size < 1000) return 'now';
  if (size < MINUTE) return `${Math.floor(size / 1000)} s`;
  if (size < HOUR) return `${Math.floor(size / MINUTE)} min`;
  if (size < 2 * DAY) return `${Math.floor(size / HOUR)} h`;
  return `${Math.floor(size / DAY)} d`;
};

export const formatRelative = (at: number, from: number): string => {
  const age = from - at;
  if (age < -1000) return `in ${formatAge(-age)}`;
  return age < 1000 ? 'now' : `${formatAge(age)} ago`;
};

const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });
export const formatExact = (at: number): string => exact.format(at);

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
export const formatClock = (at: number): string => clock.format(at);

const number = new Intl.NumberFormat('en-GB');
export const formatCount = (value: number): string => number.format(value);

export const formatBounded = (count: { value: number; isExact: boolean } | undefined): string =>
  count === undefined ? '–' : `${formatCount(count.value)}${count.isExact ? '' : '+'}`;

const UNITS = ['B', 'KB', 'MB', 'GB'];
export const formatBytes = (bytes: number): string => {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log(Math.max(1, bytes)) / Math.log(1024)));
  return `${(bytes / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${UNITS[power]}`;
};

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

/** Enough of an id to tell it from others in sight. */
export const shorten = (id: string): string => (id.length > 13 ? `${id.slice(0, 8)}…${id.slice(-3)}` : id);

export const toText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
