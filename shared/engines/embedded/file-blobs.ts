import { hash } from 'node:crypto';
import { mkdir, open, opendir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Log } from '../../kernel/log.ts';
import { type Blobs, contentDamagedError } from '../../ports/blobs.ts';
import type { Database } from './database.ts';
import { isNoSpaceError } from './no-space-error.ts';
import type { Durability } from './sqlite-records.ts';

/** Each blob is a file. It appears under its name only when all of it is on the disk. */
export interface FileBlobs extends Blobs {
  /** The files of what was put before then and has no owner, and of what a crash left half written. */
  listUnretained(before: number): Promise<string[]>;
  /** Removes such a file, unless somebody has come to own it. */
  deleteUnretained(file: string): Promise<void>;
}

interface FileBlobOptions {
  now: () => number;
  newId: () => string;
  /** What to throw where the disk does not take what is written. */
  toError: (error: unknown) => unknown;
  /** Called when there is no room for a blob, and when there is again. */
  onCapacityChange: (hasRoom: boolean) => void;
  log: Log;
}

/** So many damaged blobs are logged once each. */
const MAX_REPORTED_DAMAGED = 1000;

export const createFileBlobs = (
  root: string,
  { now, newId, toError, onCapacityChange, log }: FileBlobOptions,
): FileBlobs => {
  // A key may contain anything and be long; its hash is a name on every file system. The folders stay: they are 257 at most.
  const hashKey = (key: string): string => hash('sha256', key, 'hex');
  const unowned = join(root, 'new');
  const buildUnretainedPath = (key: string): string => join(unowned, hashKey(key));
  const buildRetainedPath = (key: string): string => join(root, hashKey(key).slice(0, 2), hashKey(key));

  const folders = new Map<string, Promise<void>>();
  /** Once in a process, so that a folder which another is just making is not used before it is durable. */
  const ensureFolder = (folder: string): Promise<void> => {
    const making = folders.get(folder) ?? createDurableFolder(folder);
    folders.set(folder, making);
    making.catch(() => folders.delete(folder));
    return making;
  };

  /** Somebody may delete the folder while this process runs: it is made again, once. */
  const inFolder = async (folder: string, act: () => Promise<void>): Promise<void> => {
    await ensureFolder(folder);
    await act().catch(async (error) => {
      ignoreMissing(error);
      folders.delete(folder);
      await ensureFolder(folder);
      await act();
    });
  };

  const damaged = new Set<string>();
  const tellOnce = (blob: string, facts: { file: string; bytes: number }): void => {
    if (damaged.has(blob) || damaged.size >= MAX_REPORTED_DAMAGED) return;
    damaged.add(blob);
    log('error', 'blob damaged', { blob, ...facts });
  };
  const readVerified = async (key: string, path: string): Promise<string | undefined> => {
    const file = await readFileIfExists(path);
    const content = file && decodeBlobFile(file);
    if (!file || content !== undefined) return content;
    tellOnce(key, { file: path, bytes: file.length });
    throw contentDamagedError(key, 'damaged');
  };

  /** Of the smallest content for which there was no room: less may have some, and says nothing of it. */
  let refusedBytes = Infinity;
  const recordCapacity = (bytes: number): void => {
    if (bytes < refusedBytes) return;
    refusedBytes = Infinity;
    onCapacityChange(true);
  };
  const recordNoCapacity = (bytes: number): void => {
    if (refusedBytes === Infinity) onCapacityChange(false);
    refusedBytes = Math.min(refusedBytes, bytes);
  };

  return {
    put: async (key, content) => {
      const path = buildUnretainedPath(key);
      const unfinished = `${path}.${newId()}`;
      try {
        await inFolder(unowned, async () => {
          await writeSynced(unfinished, content, now());
          await rename(unfinished, path);
          await syncFolderAsync(unowned);
        });
        recordCapacity(content.length);
      } catch (error) {
        await rm(unfinished, { force: true }).catch(() => {});
        if (isNoSpaceError(error)) recordNoCapacity(content.length);
        throw toError(error);
      }
    },
    // Where it moves meanwhile, it is found in its new place.
    get: async (key) => {
      const content =
        (await readVerified(key, buildUnretainedPath(key))) ?? (await readVerified(key, buildRetainedPath(key)));
      if (content === undefined) tellOnce(key, { file: buildRetainedPath(key), bytes: 0 });
      return content;
    },
    retain: async (key) => {
      const path = buildRetainedPath(key);
      try {
        await inFolder(dirname(path), async () => {
          await rename(buildUnretainedPath(key), path).catch(ignoreMissing);
          // Also where another has just moved it: whoever is told that it is owned may rely on it.
          await syncFolderAsync(dirname(path));
        });
      } catch (error) {
        throw toError(error);
      }
    },
    delete: async (key) => {
      await rm(buildUnretainedPath(key), { force: true });
      await rm(buildRetainedPath(key), { force: true });
    },
    listUnretained: async (before) => {
      const files: string[] = [];
      for await (const { name } of (await opendir(unowned).catch(ignoreMissing)) ?? []) {
        const found = await stat(join(unowned, name)).catch(ignoreMissing);
        if (found && found.mtimeMs < before) files.push(name);
      }
      return files;
    },
    deleteUnretained: (file) => rm(join(unowned, file), { force: true }),
  };
};

/** What follows from a change is done to files only once that is on the disk: they cannot be taken back with it. */
export const createEmbeddedBlobs = (db: Database, files: Blobs, care: Durability): Blobs => {
  if (care === 'durable') return files;
  const runAfterSync = (act: (key: string) => Promise<void>) => (key: string) =>
    db.write(() => {}).then(() => act(key));
  return { ...files, retain: runAfterSync(files.retain), delete: runAfterSync(files.delete) };
};

const writeSynced = async (path: string, content: string, at: number): Promise<void> => {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(`${buildChecksumLine(content)}${content}`);
    await file.utimes(at / 1000, at / 1000);
    await file.datasync();
  } finally {
    await file.close();
  }
};

const createDurableFolder = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true });
  await syncFolderAsync(dirname(folder));
  await syncFolderAsync(dirname(dirname(folder)));
};

/** A new name in a folder is durable only when the folder is. */
const syncFolderAsync = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

const readFileIfExists = (path: string): Promise<Buffer | undefined> => readFile(path).catch(ignoreMissing);

/** The first line of each file tells whether the rest is what was put. */
const buildChecksumLine = (content: string | Buffer): string =>
  `parley-blob ${Buffer.byteLength(content)} ${crc32(content).toString(16)}\n`;

const decodeBlobFile = (file: Buffer): string | undefined => {
  const content = file.subarray(file.indexOf(10) + 1);
  return file.toString('latin1', 0, file.length - content.length) === buildChecksumLine(content)
    ? content.toString()
    : undefined;
};

const ignoreMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code === 'ENOENT') return undefined;
  throw error;
};
