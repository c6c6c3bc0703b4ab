import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packFolder, runCommand } from './run-command.ts';

/** JavaScript modules with their types, and without dependencies. */
export const packSdk = async (root: string, destination: string, version: string): Promise<string> => {
  const source = join(root, 'sdk', 'typescript');
  const folder = join(destination, 'parley-sdk');
  const dist = join(folder, 'dist');
  await mkdir(dist, { recursive: true });
  await runCommand(
    join(root, 'node_modules', '.bin', 'tsc'),
    ['-p', join(source, 'tsconfig.build.json'), '--outDir', dist],
    root,
  );
  await correctTypeImports(dist);
  for (const file of ['README.md', 'package.json']) await cp(join(source, file), join(folder, file));
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  await writeFile(join(folder, 'package.json'), `${JSON.stringify({ ...manifest, version }, null, 2)}\n`);
  return packFolder(folder, destination);
};

const TYPE_IMPORT = /((?:from |import\()['"]\.\.?\/[^'"]+)\.ts(?=['"])/g;

/** The compiler names the modules of the output in JavaScript, and those of the source in types. */
const correctTypeImports = async (dist: string): Promise<void> => {
  for (const file of await readdir(dist, { recursive: true })) {
    if (!file.endsWith('.d.ts')) continue;
    const text = await readFile(join(dist, file), 'utf8');
    await writeFile(join(dist, file), text.replaceAll(TYPE_IMPORT, '$1.js'));
  }
};
