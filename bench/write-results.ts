import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const writeResults = (results: object, kind: string): string => {
  const folder = join(import.meta.dirname, 'results');
  mkdirSync(folder, { recursive: true });
  const at = new Date().toISOString();
  const file = join(folder, `${at.replaceAll(':', '-')}${kind}.json`);
  writeFileSync(file, `${JSON.stringify({ at, ...results }, null, 2)}\n`);
  return file;
};
