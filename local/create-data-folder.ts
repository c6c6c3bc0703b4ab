import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** One level at a time: where a file system refuses, as in /proc, Node's recursive mkdir never ends. */
export const createDataFolder = (dir: string): void => {
  // Other users of this machine must not read messages.
  process.umask(0o077);
  const missing: string[] = [];
  for (let at = resolve(dir); !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const folder of missing) mkdirSync(folder);
};

/** An admin key without a storage: the storage was lost, or the first start died early. */
export const lacksStorage = (dir: string): boolean => {
  const names = readdirSync(dir);
  return names.includes('admin-key') && !names.some((name) => name.startsWith('parley.db') || name === 'store-id');
};
