import { existsSync, readdirSync } from 'node:fs';
import { copyFile, mkdir, open, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type BackupReport, copyClosedStorage, DATABASE_FILE } from '../shared/engines/embedded/back-up.ts';
import { inspectStorage } from '../shared/engines/embedded/inspect-storage.ts';
import { StartError } from './cli-options.ts';
import { callControl } from './control-socket.ts';
import { createDataFolder } from './create-data-folder.ts';

const MANIFEST = 'backup.json';
/** Beside the storage: what opens it. */
const KEY_FILE = /^(admin|relay)-key(\.[a-z0-9-]+)?$/;

interface Manifest {
  format: 1;
  at: string;
  /** Bytes by name, so that a copy that lacks something is noticed. */
  files: Record<string, number>;
}

export interface Backup extends BackupReport {
  folder: string;
  isOnline: boolean;
}

/** Copies what a data folder holds into a new folder. Under its name only once it is whole and on the disk. */
export const writeBackup = async (
  dir: string,
  folder: string,
  copyStorage: (folder: string) => Promise<BackupReport>,
  isOnline: boolean,
): Promise<Backup> => {
  assertUnused(folder);
  const unfinished = `${folder}.unfinished`;
  if (existsSync(unfinished)) throw new StartError(`${unfinished} is of a backup that did not end. Delete it.`);
  createDataFolder(unfinished);
  const report = await copyStorage(unfinished);
  for (const name of (await readdir(dir)).filter((one) => KEY_FILE.test(one))) {
    await copyFile(join(dir, name), join(unfinished, name));
  }
  const manifest: Manifest = {
    format: 1,
    at: new Date().toISOString(),
    files: await listSizes(unfinished),
  };
  await writeFile(join(unfinished, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { flush: true });
  await sync(unfinished);
  await rename(unfinished, folder);
  await sync(dirname(folder));
  return { ...report, folder, isOnline };
};

/** By the server that uses the folder; where none does, here. */
export const backUp = async (dir: string, destination: string): Promise<Backup> => {
  const folder = resolve(destination);
  if (!existsSync(join(dir, DATABASE_FILE))) throw new StartError(`${dir} holds no storage. Say which with --data.`);
  const answer = await callControl<Backup>(dir, { backUp: folder });
  if (answer === undefined) return writeBackup(dir, folder, (to) => copyClosedStorage(dir, to), false);
  if ('error' in answer) throw new StartError(answer.error);
  return answer.done;
};

/** Into a data folder that is not there yet, or is empty. */
export const restoreBackup = async (source: string, dir: string): Promise<{ at: string; files: number }> => {
  const manifest = await readManifest(source);
  assertUnused(dir);
  for (const [name, bytes] of Object.entries(manifest.files)) {
    const found = await stat(join(source, name)).catch(() => undefined);
    if (found?.size !== bytes) {
      throw new StartError(
        `${source} is not whole: ${name} has ${found?.size ?? 'no'} bytes and should have ${bytes}.`,
      );
    }
  }
  // Opens it for reading, and throws what is damaged.
  inspectStorage(join(source, DATABASE_FILE));
  const unfinished = `${resolve(dir)}.unfinished`;
  if (existsSync(unfinished)) throw new StartError(`${unfinished} is of a restore that did not end. Delete it.`);
  createDataFolder(unfinished);
  for (const name of Object.keys(manifest.files)) {
    await mkdir(dirname(join(unfinished, name)), { recursive: true });
    await copyFile(join(source, name), join(unfinished, name));
    await sync(join(unfinished, name));
  }
  await sync(unfinished);
  await rename(unfinished, dir);
  await sync(dirname(resolve(dir)));
  return { at: manifest.at, files: Object.keys(manifest.files).length };
};

const readManifest = async (source: string): Promise<Manifest> => {
  const text = await readFile(join(source, MANIFEST), 'utf8').catch(() => undefined);
  if (text === undefined) throw new StartError(`${source} is no backup: there is no ${MANIFEST} in it.`);
  const { format, at, files } = JSON.parse(text);
  if (format !== 1) throw new StartError(`${source} has the format ${format}, which this version cannot read.`);
  return { format, at, files };
};

const assertUnused = (folder: string): void => {
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new StartError(`${folder} is there already. Name a folder that is not.`);
  }
};

const listSizes = async (folder: string): Promise<Record<string, number>> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, (await stat(join(folder, name))).size] as const)),
  );
};

const sync = async (path: string): Promise<void> => {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};
