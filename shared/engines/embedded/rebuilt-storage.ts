import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { STORE_ID_FILE } from './inspect-storage.ts';
import { syncFolder } from './journal-file.ts';
import type { SalvageReport } from './salvage-storage.ts';

/** Exists while files remain to be moved. */
const NOTE = 'salvaged.json';

const buildRebuildingPath = (path: string): string => `${path}-rebuilding`;
const buildRebuiltPath = (path: string): string => `${path}-rebuilt`;

export const beginRebuilding = (path: string): string => {
  rmSync(buildRebuildingPath(path), { recursive: true, force: true });
  mkdirSync(buildRebuildingPath(path));
  return join(buildRebuildingPath(path), basename(path));
};

/** The commit point: before it the old storage is intact, after it any start can finish. */
export const declareRebuilt = (path: string, salvaged: SalvageReport): void => {
  writeFileSync(join(buildRebuildingPath(path), NOTE), `${JSON.stringify(salvaged, undefined, 2)}\n`, { flush: true });
  syncFolder(buildRebuildingPath(path));
  renameSync(buildRebuildingPath(path), buildRebuiltPath(path));
  syncFolder(dirname(path));
};

export const putInPlace = (path: string): SalvageReport | undefined => {
  const rebuilt = buildRebuiltPath(path);
  if (!existsSync(rebuilt)) return undefined;
  const salvaged = existsSync(join(rebuilt, NOTE)) ? exchange(path) : undefined;
  rmdirSync(rebuilt);
  // If a power failure restored the folder, a later WAL would be taken for the old one.
  syncFolder(dirname(path));
  return salvaged;
};

const exchange = (path: string): SalvageReport => {
  const [folder, rebuilt] = [dirname(path), buildRebuiltPath(path)];
  const noted: SalvageReport = JSON.parse(readFileSync(join(rebuilt, NOTE), 'utf8'));
  // The folder may have been renamed.
  const aside = join(folder, basename(noted.aside));
  mkdirSync(aside, { recursive: true });
  const fresh = readdirSync(rebuilt).filter((name) => name !== NOTE);
  // On resume, a file that has left `rebuilt` is already the new one.
  for (const name of new Set([...fresh, `${basename(path)}-wal`, `${basename(path)}-shm`, STORE_ID_FILE])) {
    if (existsSync(join(folder, name))) renameSync(join(folder, name), join(aside, name));
  }
  syncFolder(aside);
  syncFolder(folder);
  for (const name of fresh) renameSync(join(rebuilt, name), join(folder, name));
  syncFolder(folder);
  renameSync(join(rebuilt, NOTE), join(aside, NOTE));
  syncFolder(aside);
  return { ...noted, aside };
};
