import { existsSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { ESBUILD_OPTIONS } from '../shared/kernel/esbuild-options.ts';
import { packFolder } from './run-command.ts';
import { formatThirdPartyLicenses } from './third-party.ts';

/** The first Node.js with `node:sqlite` without a flag. */
const NODE = '22.13';

/** The command line and the server, one file each: neither needs a package beside it. */
export const packCommandLine = async (root: string, destination: string, version: string): Promise<string> => {
  const folder = join(destination, 'parley-cli');
  const bundles = { 'bin/parley': 'cli/main.ts', 'bin/server': 'local/main.ts' };
  const inputs = await Promise.all(Object.entries(bundles).map(([name, entry]) => bundle(root, folder, name, entry)));
  const console = join(root, 'console', 'dist');
  if (existsSync(console)) await cp(console, join(folder, 'console', 'dist'), { recursive: true });
  await cp(join(root, 'cli', 'README.md'), join(folder, 'README.md'));
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  await writeFile(join(folder, 'THIRD-PARTY-LICENSES'), await formatThirdPartyLicenses(root, new Set(inputs.flat())));
  await writeFile(
    join(folder, 'package.json'),
    `${JSON.stringify(
      {
        name: 'parley-cli',
        version,
        description: 'Durable tasks between AI agents: the server and the command line',
        license: 'Apache-2.0',
        type: 'module',
        bin: { parley: 'bin/parley.mjs' },
        files: ['bin', 'console', 'THIRD-PARTY-LICENSES'],
        engines: { node: `>=${NODE}` },
      },
      null,
      2,
    )}\n`,
  );
  return packFolder(folder, destination);
};

const bundle = async (root: string, folder: string, name: string, entry: string): Promise<string[]> => {
  const { banner } = ESBUILD_OPTIONS;
  await mkdir(join(folder, 'bin'), { recursive: true });
  const { metafile } = await build({
    ...ESBUILD_OPTIONS,
    target: `node${NODE}`,
    entryPoints: [join(root, entry)],
    outfile: join(folder, `${name}.mjs`),
    absWorkingDir: root,
    metafile: true,
    banner: { js: `#!/usr/bin/env node\n${banner.js}` },
  });
  return Object.keys(metafile.inputs);
};
