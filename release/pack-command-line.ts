import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { buildConsole } from '../console/build.ts';
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
  const { files, inputs: consoleInputs } = await buildConsole();
  const dist = join(folder, 'console', 'dist');
  await mkdir(dist, { recursive: true });
  for (const [name, bytes] of files) await writeFile(join(dist, name), bytes);
  await cp(join(root, 'cli', 'README.md'), join(folder, 'README.md'));
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  await writeFile(
    join(folder, 'THIRD-PARTY-LICENSES'),
    await formatThirdPartyLicenses(root, new Set([...inputs.flat(), ...consoleInputs])),
  );
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
    // The console is in the package as it was built.
    external: ['esbuild'],
    banner: { js: `#!/usr/bin/env node\n${banner.js}` },
  });
  return Object.keys(metafile.inputs);
};
