import { readFileSync } from 'node:fs';
import type { Json } from '../sdk/typescript/src/index.ts';
import { UsageError } from './command.ts';

/** JSON itself, `@file`, or `-` for standard input. */
export const parseJsonArgument = (text: string, what: string): Json => {
  const source = text === '-' ? readFileSync(0, 'utf8') : text.startsWith('@') ? readText(text.slice(1)) : text;
  try {
    return JSON.parse(source);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${what} is not JSON: ${why}. A string needs quotes of its own: '"text"'.`);
  }
};

const readText = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new UsageError(`${file} cannot be read.`);
  }
};
