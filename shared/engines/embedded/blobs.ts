import { hash } from 'node:crypto';
import { mkdir, open, opendir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Blobs } from '../../ports/blobs.ts';
import type { Database } from './database.ts';
import type { Care } from './records.ts';

/** Each blob is a file. It appears under its name only when all of it is on the disk. */
export interface FileBlobs extends Blobs {
  /** The files of what was put before then and has no owner, and of what a crash left half written. */
  unowned(before: number): Promise<string[]>;
  /** Removes such a file, unless somebody has come to own it. */
  removeUnowned(file: string): Promise<void>;
}

interface Surroundings {
  now: () => number;
  newId: () => string;
  /** What to throw where the disk does not take what is written. */
  failed: (error: unknown) => unknown;
}

export const fileBlobs = (root: string, { now, newId, failed }: Surroundings): FileBlobs => {
  // A key may contain anything and be long; its hash is a name on every file system. The folders stay: they are 257 at most.
  const nameOf = (key: string): string => hash('sha256', key, 'hex');
  const unowned = join(root, 'new');
  const newPathOf = (key: string): string => join(unowned, nameOf(key));
  const pathOf = (key: string): string => join(root, nameOf(key).slice(0, 2), nameOf(key));

  const folders = new Map<string, Promise<void>>();
  /** Once in a process, so that a folder which another is just making is not used before it is durable. */
  const made = (folder: string): Promise<void> => {
    const making = folders.get(folder) ?? durableFolder(folder);
    folders.set(folder, making);
    making.catch(() => folders.delete(folder));
    return making;
  };

  return {
    put: async (key, content) => {
      const path = newPathOf(key);
      const unfinished = `${path}.${newId()}`;
      try {
        await made(unowned);
        await writeSynced(unfinished, content, now());
        await rename(unfinished, path);
        await synced(unowned);
      } catch (error) {
        await rm(unfinished, { force: true }).catch(() => {});
        throw failed(error);
      }
    },
    // Where it moves meanwhile, it is found in its new place.
    get: async (key) => (await readIfThere(newPathOf(key))) ?? readIfThere(pathOf(key)),
    own: async (key) => {
      const path = pathOf(key);
      try {
        await made(dirname(path));
        await rename(newPathOf(key), path).catch(undefinedIfMissing);
        // Also where another has just moved it: whoever is told that it is owned may rely on it.
        await synced(dirname(path));
      } catch (error) {
        throw failed(error);
      }
    },
    delete: async (key) => {
      await rm(newPathOf(key), { force: true });
      await rm(pathOf(key), { force: true });
    },
    unowned: async (before) => {
      const files: string[] = [];
      for await (const { name } of (await opendir(unowned).catch(undefinedIfMissing)) ?? []) {
        const found = await stat(join(unowned, name)).catch(undefinedIfMissing);
        if (found && found.mtimeMs < before) files.push(name);
      }
      return files;
    },
    removeUnowned: (file) => rm(join(unowned, file), { force: true }),
  };
};

/** What follows from a change is done to files only once that is on the disk: they cannot be taken back with it. */
export const blobsOn = (db: Database, files: Blobs, care: Care): Blobs => {
  if (care === 'durable') return files;
  const afterwards = (act: (key: string) => Promise<void>) => (key: string) => db.write(() => {}).then(() => act(key));
  return { ...files, own: afterwards(files.own), delete: afterwards(files.delete) };
};

const writeSynced = async (path: string, content: string, at: number): Promise<void> => {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(content);
    await file.utimes(at / 1000, at / 1000);
    await file.datasync();
  } finally {
    await file.close();
  }
};

const durableFolder = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true });
  await synced(dirname(folder));
  await synced(dirname(dirname(folder)));
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

const readIfThere = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(undefinedIfMissing);

const undefinedIfMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code === 'ENOENT') return undefined;
  throw error;
};
