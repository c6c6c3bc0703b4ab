import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { packCommandLine } from './pack-command-line.ts';
import { packConstruct } from './pack-construct.ts';
import { packSdk } from './pack-sdk.ts';
import { packWheel } from './pack-wheel.ts';

export const ROOT = join(import.meta.dirname, '..');

/** Packages that need no clone: three for npm and one for pip. Returns their files. */
export const packAll = async (folder: string): Promise<string[]> => {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  return [
    await packCommandLine(ROOT, folder, version),
    await packSdk(ROOT, folder, version),
    await packWheel(ROOT, folder, version),
    await packConstruct(ROOT, folder, version),
  ];
};

if (import.meta.main) {
  for (const file of await packAll(process.argv[2] ?? join(ROOT, 'dist', 'packages'))) console.log(file);
}
