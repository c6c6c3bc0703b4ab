import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm, unlink } from 'node:fs/promises';

/** Every step that changes a folder, so that a test can end the bridge before and after each. */
export interface Disk {
  /** Empty where there is no such folder. */
  listNames(folder: string): Promise<string[]>;
  /** Undefined where there is nothing. */
  inspect(path: string): Promise<FileFacts | undefined>;
  readText(path: string): Promise<string>;
  /** On disk once it returns. */
  write(path: string, text: string): Promise<void>;
  makeFolder(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Nothing happens where it is not there. */
  remove(path: string): Promise<void>;
  /** What was renamed in it is on disk once it returns. */
  syncFolder(path: string): Promise<void>;
}

export interface FileFacts {
  /** Not a folder, a link or a pipe. */
  isFile: boolean;
  modifiedMs: number;
  bytes: number;
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

const unlessMissing = async <T>(asked: Promise<T>): Promise<T | undefined> => {
  try {
    return await asked;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};

const withFile = async <T>(path: string, flags: number | string, use: (file: FileHandle) => Promise<T>): Promise<T> => {
  const file = await open(path, flags);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
};

export const disk: Disk = {
  listNames: async (folder) => (await unlessMissing(readdir(folder))) ?? [],
  inspect: async (path) => {
    const found = await unlessMissing(lstat(path));
    return found && { isFile: found.isFile(), modifiedMs: found.mtimeMs, bytes: found.size };
  },
  // Whoever may write to the folder could put a link there after it was inspected.
  readText: (path) =>
    withFile(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK, (file) => file.readFile('utf8')),
  write: (path, text) =>
    withFile(path, 'w', async (file) => {
      await file.writeFile(text);
      await file.sync();
    }),
  makeFolder: async (path) => {
    await mkdir(path, { recursive: true });
  },
  rename,
  remove: async (path) => {
    const found = await unlessMissing(lstat(path));
    if (found?.isDirectory()) await rm(path, { recursive: true });
    else await unlessMissing(unlink(path));
  },
  syncFolder: (path) => withFile(path, 'r', (folder) => folder.sync()),
};
