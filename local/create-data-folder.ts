import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Folder by folder: where a file system takes none, as below /proc, Node's own recursion never ends. */
export const createDataFolder = (dir: string): void => {
  // What agents tell each other is nobody else's business on this machine, also in a folder that others can look into.
  process.umask(0o077);
  const missing: string[] = [];
  for (let at = resolve(dir); !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const folder of missing) mkdirSync(folder);
};

/** Whether the folder has an admin key and nothing of a storage: it was lost, or the first start ended before it made one. */
export const lacksStorage = (dir: string): boolean => {
  const names = readdirSync(dir);
  return names.includes('admin-key') && !names.some((name) => name.startsWith('parley.db') || name === 'store-id');
};
