/** Milliseconds, or a number with a unit. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export const toMs = (duration: Duration): number => {
  if (typeof duration === 'number') return duration;
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(duration) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? Number.NaN);
  if (Number.isFinite(ms)) return ms;
  throw new TypeError(`"${duration}" is not a duration. Write a number of milliseconds, or one such as "30s" or "5m".`);
};

export const toSeconds = (duration: Duration): number => Math.ceil(toMs(duration) / 1000);
