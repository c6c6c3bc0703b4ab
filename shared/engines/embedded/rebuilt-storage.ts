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

/** Within the folder as long as something is to be moved, and then with the old files. */
const NOTE = 'salvaged.json';

const buildRebuildingPath = (path: string): string => `${path}-rebuilding`;
const buildRebuiltPath = (path: string): string => `${path}-rebuilt`;

/** Where a new storage is made, beside the old one. What was begun there earlier was not finished, and is gone. */
export const beginRebuilding = (path: string): string => {
  rmSync(buildRebuildingPath(path), { recursive: true, force: true });
  mkdirSync(buildRebuildingPath(path));
  return join(buildRebuildingPath(path), basename(path));
};

/** One step makes the new storage the one that counts: before it the old one is as it was, and behind it any start can go on. */
export const declareRebuilt = (path: string, salvaged: SalvageReport): void => {
  writeFileSync(join(buildRebuildingPath(path), NOTE), `${JSON.stringify(salvaged, undefined, 2)}\n`, { flush: true });
  syncFolder(buildRebuildingPath(path));
  renameSync(buildRebuildingPath(path), buildRebuiltPath(path));
  syncFolder(dirname(path));
};

/** Moves the old files aside and the new ones to their place, also where an earlier start was stopped at that. */
export const putInPlace = (path: string): SalvageReport | undefined => {
  const rebuilt = buildRebuiltPath(path);
  if (!existsSync(rebuilt)) return undefined;
  const salvaged = existsSync(join(rebuilt, NOTE)) ? exchange(path) : undefined;
  rmdirSync(rebuilt);
  // Should the power bring it back, a later WAL would be taken for the old one.
  syncFolder(dirname(path));
  return salvaged;
};

const exchange = (path: string): SalvageReport => {
  const [folder, rebuilt] = [dirname(path), buildRebuiltPath(path)];
  const noted: SalvageReport = JSON.parse(readFileSync(join(rebuilt, NOTE), 'utf8'));
  // The folder may have another name by now.
  const aside = join(folder, basename(noted.aside));
  mkdirSync(aside, { recursive: true });
  const fresh = readdirSync(rebuilt).filter((name) => name !== NOTE);
  // A file whose successor has left its place is that successor; those that have none are of the old storage.
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
