import { constants, copyFileSync, existsSync } from 'node:fs';
import { copyFile, mkdir, open, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { STORE_ID_FILE } from './inspect-storage.ts';
import { buildJournalPaths } from './journal.ts';

export const BLOB_FOLDER = 'blobs';
export const DATABASE_FILE = 'parley.db';

interface BackupSource {
  dir: string;
  /** From now on SQLite copies nothing into its database, until the function that is returned is called. */
  holdCheckpoints(): () => void;
  /** From now on no content is deleted, until the function that is returned is called. */
  holdDeletes(): () => void;
}

export interface BackupReport {
  bytes: number;
  blobs: number;
  /** How long the process did nothing else. */
  pausedMs: number;
}

/**
 * A copy of the storage as a kill of the process would leave it at one moment: a start from it replays the journal, as it does
 * after a kill. While checkpoints are held, the database file does not change. What SQLite has committed since is in the WAL, and
 * all else that was acknowledged is in the journal; those are copied at once, while nothing runs.
 *
 * Content is copied before, and what is new of it afterwards: all that the copied records name is there, because a record
 * names no content that is put later.
 */
export const backUpStorage = async (source: BackupSource, folder: string): Promise<BackupReport> => {
  const [from, to] = [join(source.dir, BLOB_FOLDER), join(folder, BLOB_FOLDER)];
  await mkdir(folder, { recursive: true });
  const blobs = new Set<string>();
  await copyNewBlobs(from, to, blobs);
  const releaseCheckpoints = source.holdCheckpoints();
  try {
    await copyDurably(join(source.dir, DATABASE_FILE), join(folder, DATABASE_FILE));
    const releaseDeletes = source.holdDeletes();
    try {
      const pausedMs = copyAtOnce(source.dir, folder);
      await copyNewBlobs(from, to, blobs);
      const bytes = await syncFiles(folder);
      return { bytes, blobs: blobs.size, pausedMs };
    } finally {
      releaseDeletes();
    }
  } finally {
    releaseCheckpoints();
  }
};

/** Where no process uses it. One that begins to meanwhile is noticed. */
export const copyClosedStorage = async (dir: string, folder: string): Promise<BackupReport> => {
  const before = await describeFiles(dir);
  await mkdir(folder, { recursive: true });
  await copyDurably(join(dir, DATABASE_FILE), join(folder, DATABASE_FILE));
  const pausedMs = copyAtOnce(dir, folder);
  const blobs = new Set<string>();
  await copyNewBlobs(join(dir, BLOB_FOLDER), join(folder, BLOB_FOLDER), blobs);
  const bytes = await syncFiles(folder);
  if ((await describeFiles(dir)) !== before) throw new Error(`${dir} was used meanwhile. Make the backup again.`);
  return { bytes, blobs: blobs.size, pausedMs };
};

const describeFiles = async (dir: string): Promise<string> => {
  const names = [DATABASE_FILE, `${DATABASE_FILE}-wal`, ...buildJournalPaths(DATABASE_FILE)];
  const found = await Promise.all(names.map((name) => stat(join(dir, name)).catch(ignoreMissing)));
  return JSON.stringify(found.map((file) => file && [file.size, file.mtimeMs]));
};

/** Synchronous: no write comes between the files. */
const copyAtOnce = (dir: string, folder: string): number => {
  const began = performance.now();
  const journals = buildJournalPaths(DATABASE_FILE);
  for (const name of [`${DATABASE_FILE}-wal`, ...journals, STORE_ID_FILE]) {
    // After a stop there is no WAL.
    if (!existsSync(join(dir, name))) continue;
    copyFileSync(join(dir, name), join(folder, name), constants.COPYFILE_FICLONE);
  }
  return Math.round(performance.now() - began);
};

/** Content never changes under its name; it moves once, from `new` to where it is kept. */
const copyNewBlobs = async (from: string, to: string, known: Set<string>): Promise<void> => {
  for (const name of await listFiles(from)) {
    if (known.has(name)) continue;
    await mkdir(dirname(join(to, name)), { recursive: true });
    // What is gone meanwhile belongs to no record any more, or has moved and is found by the next look.
    const isCopied = await copyDurably(join(from, name), join(to, name)).then(() => true, ignoreMissing);
    if (isCopied) known.add(name);
  }
};

const listFiles = async (folder: string): Promise<string[]> => {
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true }).catch(ignoreMissing)) ?? [];
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
};

const copyDurably = async (from: string, to: string): Promise<void> => {
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await sync(to);
};

const syncFiles = async (folder: string): Promise<number> => {
  let bytes = 0;
  for (const name of await listFiles(folder)) {
    bytes += (await stat(join(folder, name))).size;
    if (!name.startsWith(BLOB_FOLDER)) await sync(join(folder, name));
  }
  await sync(folder);
  return bytes;
};

const sync = async (path: string): Promise<void> => {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

const ignoreMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code === 'ENOENT') return undefined;
  throw error;
};
