import { toSeconds } from '../sdk/typescript/src/duration.ts';
import { UsageError } from './command.ts';

export const parseSeconds = (text: string, option: string): number => {
  try {
    return toSeconds(text as `${number}s`);
  } catch {
    throw new UsageError(`--${option} is a duration such as 1h or 30d, not "${text}".`);
  }
};
