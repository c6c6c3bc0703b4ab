import { ParleyError } from '../../kernel/errors.ts';
import { DAY_MS } from '../../kernel/retention.ts';

/** The values of each field that match, in UTC. */
export interface Cron {
  minutes: readonly number[];
  hours: readonly number[];
  days: readonly number[];
  months: readonly number[];
  weekdays: readonly number[];
  /** Both are restricted: one of them has to match. */
  isEitherDay: boolean;
}

const FIELDS = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of the month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12 },
  { name: 'day of the week', min: 0, max: 7 },
] as const;

const PART = /^(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/;

/** Five fields with numbers, `*`, lists, ranges and steps. */
export const parseCron = (text: string): Cron => {
  const parts = text.trim().split(/\s+/);
  if (parts.length !== FIELDS.length) throw cronError(text, 'it must have five fields');
  const values = FIELDS.map((field, at) => parseField(text, field, parts[at] ?? ''));
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = values;
  return {
    minutes,
    hours,
    days,
    months,
    // Sunday is 0 and 7.
    weekdays: [...new Set(weekdays.map((day) => day % 7))],
    isEitherDay: !parts[2]?.startsWith('*') && !parts[4]?.startsWith('*'),
  };
};

const parseField = (text: string, { name, min, max }: (typeof FIELDS)[number], field: string): number[] => {
  const found = new Set<number>();
  for (const part of field.split(',')) {
    const [match, first, last, every = '1'] = PART.exec(part) ?? [];
    if (match === undefined) throw cronError(text, `"${part}" is no ${name}`);
    const from = first === undefined ? min : Number(first);
    const isOne = first !== undefined && last === undefined && !part.includes('/');
    const to = last === undefined ? (isOne ? from : max) : Number(last);
    const step = Number(every);
    if (from < min || to > max || from > to || step < 1) throw cronError(text, `"${part}" is no ${name}`);
    for (let value = from; value <= to; value += step) found.add(value);
  }
  return [...found].sort((a, b) => a - b);
};

const cronError = (text: string, why: string): ParleyError =>
  new ParleyError('invalid_request', `The cron expression "${text}" is not valid: ${why}.`, {
    issues: [{ path: 'cron', message: why }],
  });

/** The 29th of February comes after eight years at the latest. */
const MAX_DAYS = 366 * 8 + 2;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** The first match later than `after`, or undefined for a day that does not exist. */
export const findNextRun = (cron: Cron, after: number): number | undefined => {
  const first = Math.floor(after / DAY_MS) * DAY_MS;
  for (let count = 0; count < MAX_DAYS; count++) {
    const day = first + count * DAY_MS;
    if (!matchesDay(cron, new Date(day))) continue;
    for (const hour of cron.hours) {
      for (const minute of cron.minutes) {
        const at = day + hour * HOUR_MS + minute * MINUTE_MS;
        if (at > after) return at;
      }
    }
  }
  return undefined;
};

const matchesDay = ({ days, months, weekdays, isEitherDay }: Cron, day: Date): boolean => {
  if (!months.includes(day.getUTCMonth() + 1)) return false;
  const [isDay, isWeekday] = [days.includes(day.getUTCDate()), weekdays.includes(day.getUTCDay())];
  return isEitherDay ? isDay || isWeekday : isDay && isWeekday;
};

export const listNextRuns = (cron: Cron, after: number, count: number): number[] => {
  const runs: number[] = [];
  for (let at = findNextRun(cron, after); at !== undefined && runs.length < count; at = findNextRun(cron, at))
    runs.push(at);
  return runs;
};
