import { getText, type OptionValues, UsageError } from './command.ts';

const FILTERS = ['domain', 'error', 'requester', 'holder', 'agent', 'conversation'] as const;

/** As in `GET /v1/tasks`. */
export const FILTER_OPTIONS: Record<string, string> = {
  status:
    '<status> one or several, with commas between: waiting, requested, claimed, in_progress, input_required, completed, failed, expired, cancelled',
  type: '<capability> of this capability',
  domain: '<domain> of this domain',
  error: '<code> whose error has this code',
  requester: '<agent> from this agent',
  holder: '<agent> held by this agent',
  agent: '<agent> from, for or held by this agent',
  conversation: '<id> of this conversation',
  since: '<time> created at this time or later: ISO 8601, or so long ago, such as 2h',
  until: '<time> created before this time',
  prefix: '<text> whose id begins so',
  retrying: 'that wait for another attempt',
  waits: 'that wait for input',
  delayed: 'that wait for the time of their start',
};

const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const parseTime = (text: string | undefined, option: string): string | undefined => {
  if (text === undefined) return undefined;
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const at = count === undefined ? Date.parse(text) : Date.now() - Number(count) * (UNITS[unit] ?? 0);
  if (!Number.isNaN(at)) return new Date(at).toISOString();
  throw new UsageError(`--${option} is a time such as 2026-03-01T12:00:00Z, or 2h for two hours ago, not "${text}".`);
};

export type TaskFilter = Record<string, string | string[] | true>;

/** The fields that were given. */
export const parseTaskFilter = (options: OptionValues): TaskFilter => {
  const filter = {
    ...Object.fromEntries(FILTERS.map((name) => [name, getText(options, name)])),
    type: getText(options, 'type'),
    idPrefix: getText(options, 'prefix'),
    status: getText(options, 'status')?.split(','),
    since: parseTime(getText(options, 'since'), 'since'),
    until: parseTime(getText(options, 'until'), 'until'),
    retrying: options.retrying === true ? (true as const) : undefined,
    waits: options.waits === true ? (true as const) : undefined,
    delayed: options.delayed === true ? (true as const) : undefined,
  };
  return Object.fromEntries(
    Object.entries(filter).filter((entry): entry is [string, string | string[] | true] => entry[1] !== undefined),
  );
};

/** For a query, where all is text. */
export const toQuery = (filter: TaskFilter): Record<string, string> =>
  Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, String(value)]));
