import { UsageError } from './command.ts';

interface LimitRate {
  starts: number;
  seconds: number;
}

export interface LimitArgument {
  key: string;
  concurrency?: number;
  rate?: LimitRate;
}

const RATE = /^(\d{1,7})\/(\d{1,6})s?$/;

export const parseRate = (text: string): LimitRate => {
  const [, starts, seconds] = RATE.exec(text) ?? [];
  if (starts !== undefined && seconds !== undefined) return { starts: Number(starts), seconds: Number(seconds) };
  throw new UsageError(`"${text}" is no rate: starts and seconds, such as 500/60.`);
};

const EXAMPLE = 'such as openai=20 or openai=20,500/60';

/** `openai=20,500/60`: twenty at once, and 500 starts in a minute. */
export const parseLimit = (text: string): LimitArgument => {
  const at = text.indexOf('=');
  const key = at < 0 ? text : text.slice(0, at);
  if (key === '') throw new UsageError(`--limit needs a key, ${EXAMPLE}.`);
  const limit: LimitArgument = { key };
  for (const part of at < 0 ? [] : text.slice(at + 1).split(',')) {
    if (/^\d{1,4}$/.test(part)) limit.concurrency = Number(part);
    else if (RATE.test(part)) limit.rate = parseRate(part);
    else throw new UsageError(`"${part}" in --limit ${text} is neither a number nor a rate, ${EXAMPLE}.`);
  }
  return limit;
};

/** Several with spaces between: a key has none. */
export const parseLimits = (text: string | undefined): LimitArgument[] | undefined =>
  text?.split(/\s+/).filter(Boolean).map(parseLimit);
