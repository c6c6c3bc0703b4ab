import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { ESBUILD_OPTIONS } from '../shared/kernel/esbuild-options.ts';
import { packFolder, runCommand } from './run-command.ts';
import { formatThirdPartyLicenses } from './third-party.ts';

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
  const inputs = await bundleTesting(root, source, dist);
  await writeFile(join(folder, 'THIRD-PARTY-LICENSES'), await formatThirdPartyLicenses(root, new Set(inputs)));
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

/** The rest of the SDK stays outside of the bundle: its classes are to be the same. */
const SDK_OUTSIDE: Plugin = {
  name: 'sdk-outside',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\.\/src\/.*\.ts$/ }, ({ path }) => ({
      path: path.replace('../src/', './').replace(/\.ts$/, '.js'),
      external: true,
    }));
  },
};

const TESTING_TYPES = `import type { StartTestParley } from './testing-types.js';
export type { StartTestParley, TestAgentOptions, TestParley, TestParleyOptions } from './testing-types.js';
export declare const startTestParley: StartTestParley;
`;

/** \`parley-sdk/testing\` brings the server itself. */
const bundleTesting = async (root: string, source: string, dist: string): Promise<string[]> => {
  const { metafile } = await build({
    ...ESBUILD_OPTIONS,
    target: 'node22.13',
    entryPoints: [join(source, 'testing', 'index.ts')],
    outfile: join(dist, 'testing.js'),
    absWorkingDir: root,
    metafile: true,
    plugins: [SDK_OUTSIDE],
  });
  await writeFile(join(dist, 'testing.d.ts'), TESTING_TYPES);
  return Object.keys(metafile.inputs);
};
