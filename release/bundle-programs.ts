import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { buildConsole } from '../console/build.ts';
import { ESBUILD_OPTIONS } from '../shared/kernel/esbuild-options.ts';

/** The first Node.js with `node:sqlite` without a flag. */
export const NODE = '22.13';

const PROGRAMS = {
  'bin/parley': 'cli/main.ts',
  'bin/server': 'local/main.ts',
  'bin/aws-records': 'local/aws-records.ts',
};

/** The command line, the server, and what reads a table on AWS, one file each: neither needs a package beside it. Returns what they are made of. */
export const bundlePrograms = async (root: string, folder: string): Promise<Set<string>> => {
  await mkdir(join(folder, 'bin'), { recursive: true });
  const { files, inputs: consoleInputs } = await buildConsole();
  const dist = join(folder, 'console', 'dist');
  await mkdir(dist, { recursive: true });
  for (const [name, bytes] of files) await writeFile(join(dist, name), bytes);
  const inputs = await Promise.all(
    Object.entries(PROGRAMS).map(([name, entry]) => bundleProgram(root, join(folder, `${name}.mjs`), entry)),
  );
  return new Set([...inputs.flat(), ...consoleInputs]);
};

const bundleProgram = async (root: string, outfile: string, entry: string): Promise<string[]> => {
  const { banner } = ESBUILD_OPTIONS;
  const { metafile } = await build({
    ...ESBUILD_OPTIONS,
    target: `node${NODE}`,
    entryPoints: [join(root, entry)],
    outfile,
    absWorkingDir: root,
    metafile: true,
    // The console is in the package as it was built.
    external: ['esbuild'],
    banner: { js: `#!/usr/bin/env node\n${banner.js}` },
  });
  return Object.keys(metafile.inputs);
};

if (import.meta.main) await bundlePrograms(join(import.meta.dirname, '..'), process.argv[2] ?? 'dist/programs');
