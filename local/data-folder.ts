import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Folder by folder: where a file system takes none, as below /proc, Node's own recursion never ends. */
export const makeDataFolder = (dir: string): void => {
  // What agents tell each other is nobody else's business on this machine, also in a folder that others can look into.
  process.umask(0o077);
  const missing: string[] = [];
  for (let at = resolve(dir); !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const folder of missing) mkdirSync(folder);
};
