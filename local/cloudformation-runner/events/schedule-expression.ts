import { unknownResourceIssue } from '../template-error.ts';

export class ScheduleError extends Error {}

/** `minute` counts from 1970 in UTC. */
export type IsDue = (minute: number) => boolean;

const UNIT_MINUTES: Record<string, number> = { minute: 1, hour: 60, day: 24 * 60 };

export const compileSchedule = (expression: string): IsDue => {
  const rate = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression);
  if (rate) {
    const minutes = Number(rate[1]) * (UNIT_MINUTES[rate[2] ?? ''] ?? 1);
    return (minute) => minute % minutes === 0;
  }
  const cron = /^cron\((.+)\)$/.exec(expression)?.[1]?.split(' ');
  if (cron?.length !== 6) throw new ScheduleError(unknownResourceIssue(`the schedule ${expression}`));
  const ranges = [
    [0, 59],
    [0, 23],
    [1, 31],
    [1, 12],
    [1, 7],
    [1970, 2199],
  ] as const;
  const fields = ranges.map(([least, most], index) => compileField(cron[index] ?? '', least, most, expression));
  return (minute) => {
    const at = new Date(minute * 60_000);
    // AWS counts days of the week from Sunday = 1.
    const values = [
      at.getUTCMinutes(),
      at.getUTCHours(),
      at.getUTCDate(),
      at.getUTCMonth() + 1,
      at.getUTCDay() + 1,
      at.getUTCFullYear(),
    ];
    return fields.every((isIn, index) => isIn(values[index] ?? -1));
  };
};

const NAMES = ['JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split(' '), 'SUN MON TUE WED THU FRI SAT'.split(' ')];

const compileField = (field: string, least: number, most: number, expression: string): ((value: number) => boolean) => {
  const parts = field.split(',').map((part) => {
    const [range = '', step] = part.split('/');
    if (range === '*' || range === '?') return { from: least, to: most, step: Number(step ?? 1) };
    const [from, to] = range.split('-').map((text) => parseFieldNumber(text, expression));
    if (from === undefined) throw new ScheduleError(unknownResourceIssue(`the schedule ${expression}`));
    return { from, to: to ?? (step === undefined ? from : most), step: Number(step ?? 1) };
  });
  return (value) => parts.some(({ from, to, step }) => value >= from && value <= to && (value - from) % step === 0);
};

const parseFieldNumber = (text: string, expression: string): number => {
  for (const names of NAMES) {
    const index = names.indexOf(text.toUpperCase());
    if (index >= 0) return index + 1;
  }
  if (!/^\d+$/.test(text)) throw new ScheduleError(unknownResourceIssue(`"${text}" in the schedule ${expression}`));
  return Number(text);
};
