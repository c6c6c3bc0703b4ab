import type { ParseArgsOptionsConfig } from 'node:util';
import type { Output } from './output.ts';

/** What scripts can rely on. */
export const EXIT = { ok: 0, failed: 1, usage: 2, unreachable: 3, rejected: 4, taskFailed: 5 } as const;

/** A mistake in the call; printed as one line with where to find help. */
export class UsageError extends Error {}

/** Ends the command with this code; the message, if any, is one line. */
export class ExitError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message = '') {
    super(message);
    this.exitCode = exitCode;
  }
}

export type OptionValues = Record<string, string | boolean | (string | boolean)[] | undefined>;

export interface CommandCall {
  args: string[];
  options: OptionValues;
  out: Output;
  signal: AbortSignal;
}

export interface Command {
  /** As in `tasks list`. */
  name: string;
  summary: string;
  /** The arguments: `CAPABILITY [JSON]`. */
  args?: string;
  /** Beside the common ones: what each does, with `<value>` first where it takes one. */
  options?: Record<string, string>;
  examples: string[];
  /** How many arguments it takes, at least and at most. */
  arity?: [number, number];
  run: (call: CommandCall) => Promise<void>;
}

export const COMMON_OPTIONS: Record<string, string> = {
  url: '<url> where Parley is (PARLEY_URL, the profile, or http://127.0.0.1:4100)',
  key: '<key> the key (PARLEY_KEY, the profile, or .parley/admin-key)',
  profile: '<name> a deployment of `parley profiles` (PARLEY_PROFILE)',
  json: 'JSON on standard output, for programs',
  help: 'this text',
};

export const takesValue = (description: string): boolean => description.startsWith('<');

export const toParseOptions = (options: Record<string, string>): ParseArgsOptionsConfig =>
  Object.fromEntries(
    Object.entries(options).map(([name, description]) => [
      name,
      { type: takesValue(description) ? ('string' as const) : ('boolean' as const) },
    ]),
  );

export const getText = (options: OptionValues, name: string): string | undefined => {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
};

export const getNumber = (options: OptionValues, name: string): number | undefined => {
  const text = getText(options, name);
  if (text === undefined) return undefined;
  const number = Number(text);
  if (text.trim() !== '' && Number.isFinite(number)) return number;
  throw new UsageError(`--${name} must be a number, not "${text}".`);
};
