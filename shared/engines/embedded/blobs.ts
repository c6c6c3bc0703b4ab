import { hash } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Blobs } from '../../ports/blobs.ts';

/** Each blob is a file. It appears under its name only when all of it is on the disk. */
export const fileBlobs = (root: string, newId: () => string, failed: (error: unknown) => unknown): Blobs => {
  // A key may contain anything and be long; its hash is a name on every file system. The folders stay: they are 256 at most.
  const pathOf = (key: string): string => {
    const name = hash('sha256', key, 'hex');
    return join(root, name.slice(0, 2), name);
  };
  return {
    put: async (key, content) => {
      const path = pathOf(key);
      const unfinished = `${path}.${newId()}`;
      try {
        await mkdir(dirname(path), { recursive: true });
        await writeSynced(unfinished, content);
        await rename(unfinished, path);
        await synced(dirname(path));
        await synced(root);
      } catch (error) {
        await rm(unfinished, { force: true }).catch(() => {});
        throw failed(error);
      }
    },
    get: (key) => readFile(pathOf(key), 'utf8').catch(undefinedIfMissing),
    delete: (key) => rm(pathOf(key), { force: true }),
  };
};

const writeSynced = async (path: string, content: string): Promise<void> => {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(content);
    await file.datasync();
  } finally {
    await file.close();
  }
};

/** A new name in a folder is durable only when the folder is. */
const synced = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

const undefinedIfMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code === 'ENOENT') return undefined;
  throw error;
};
