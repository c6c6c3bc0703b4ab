import { hash } from 'node:crypto';
import { mkdir, open, opendir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Log } from '../../kernel/log.ts';
import { type Blobs, contentDamagedError } from '../../ports/blobs.ts';
import type { Database } from './database.ts';
import { isNoSpaceError } from './no-space-error.ts';
import type { Durability } from './sqlite-records.ts';

/** A blob appears under its name only when it is completely on disk. */
export interface FileBlobs extends Blobs {
  /** Includes partial files of a crash. */
  listUnretained(before: number): Promise<string[]>;
  deleteUnretained(file: string): Promise<void>;
  /** Deletes wait until the function that is returned is called. */
  holdDeletes(): () => void;
}

interface FileBlobOptions {
  now: () => number;
  newId: () => string;
  toError: (error: unknown) => unknown;
  onCapacityChange: (hasRoom: boolean) => void;
  log: Log;
}

const MAX_REPORTED_DAMAGED = 1000;

export const createFileBlobs = (
  root: string,
  { now, newId, toError, onCapacityChange, log }: FileBlobOptions,
): FileBlobs => {
  // Keys are arbitrary; a hash is valid on every file system.
  const hashKey = (key: string): string => hash('sha256', key, 'hex');
  const unowned = join(root, 'new');
  const buildUnretainedPath = (key: string): string => join(unowned, hashKey(key));
  const buildRetainedPath = (key: string): string => join(root, hashKey(key).slice(0, 2), hashKey(key));

  const folders = new Map<string, Promise<void>>();
  /** No caller may use a folder before its creation is durable. */
  const ensureFolder = (folder: string): Promise<void> => {
    const making = folders.get(folder) ?? createDurableFolder(folder);
    folders.set(folder, making);
    making.catch(() => folders.delete(folder));
    return making;
  };

  /** The folder may be deleted at run time. */
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

  let held: Promise<void> | undefined;

  /** A smaller put that succeeds proves nothing. */
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
          // Also if another call just moved it: `retain` must be durable on return.
          await syncFolderAsync(dirname(path));
        });
      } catch (error) {
        throw toError(error);
      }
    },
    delete: async (key) => {
      await held;
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
    deleteUnretained: async (file) => {
      await held;
      await rm(join(unowned, file), { force: true });
    },
    holdDeletes: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = undefined;
        resolve();
      };
    },
  };
};

/** Files cannot be rolled back, so effects touch them only after their change is on disk. */
export const createEmbeddedBlobs = (db: Database, files: Blobs, durability: Durability): Blobs => {
  if (durability === 'durable') return files;
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

/** POSIX: a new directory entry is durable only after an fsync of the directory. */
const syncFolderAsync = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

const readFileIfExists = (path: string): Promise<Buffer | undefined> => readFile(path).catch(ignoreMissing);

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
