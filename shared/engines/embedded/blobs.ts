import { mkdir, open, readFile, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Blobs } from '../../ports/blobs.ts';

/** Each blob is a file. It appears under its name only when all of it is on the disk. */
export const fileBlobs = (root: string, newId: () => string): Blobs => {
  // Task ids may contain anything printable; no encoded name can climb out of its folder.
  const pathOf = (key: string): string => join(root, ...key.split('/').map((name) => `_${encodeURIComponent(name)}`));
  return {
    put: async (key, content) => {
      const path = pathOf(key);
      await mkdir(dirname(path), { recursive: true });
      const unfinished = `${path}.${newId()}.tmp`;
      await writeSynced(unfinished, content);
      await rename(unfinished, path);
      await syncFolder(dirname(path));
      await syncFolder(dirname(dirname(path)));
    },
    get: (key) => readFile(pathOf(key), 'utf8').catch(undefinedIfMissing),
    delete: async (key) => {
      await rm(pathOf(key), { force: true });
      // The folder of a task goes with its last blob.
      await rmdir(dirname(pathOf(key))).catch(() => {});
    },
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

const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

const undefinedIfMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code === 'ENOENT') return undefined;
  throw error;
};
