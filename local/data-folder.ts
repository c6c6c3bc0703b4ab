import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Folder by folder: where a file system takes none, as below /proc, Node's own recursion never ends. */
export const makeDataFolder = (dir: string): void => {
  const missing: string[] = [];
  for (let at = resolve(dir); !existsSync(at); at = dirname(at)) missing.unshift(at);
  // What agents tell each other is nobody else's business on this machine.
  for (const folder of missing) mkdirSync(folder, { mode: 0o700 });
};
