import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { bundleFunctions } from '../cdk/bundle.ts';
import { ESBUILD_OPTIONS } from '../shared/kernel/esbuild-options.ts';
import { NODE } from './bundle-programs.ts';
import { packFolder } from './run-command.ts';
import { formatThirdPartyLicenses } from './third-party.ts';

/** The construct with the bundles of all functions; an app has the CDK itself. */
export const packConstruct = async (root: string, destination: string, version: string): Promise<string> => {
  const source = join(root, 'cdk', 'construct');
  const folder = join(destination, 'parley-cdk');
  const functions = join(folder, 'functions');
  await mkdir(functions, { recursive: true });
  const functionInputs = await bundleFunctions(functions);
  await removeSourceMaps(functions);
  const { metafile } = await build({
    ...ESBUILD_OPTIONS,
    target: `node${NODE}`,
    entryPoints: [join(source, 'index.ts')],
    outfile: join(folder, 'index.js'),
    absWorkingDir: root,
    metafile: true,
    external: ['aws-cdk-lib', 'aws-cdk-lib/*', 'constructs'],
  });
  const inputs = new Set([...functionInputs, ...Object.keys(metafile.inputs)]);
  await writeFile(join(folder, 'THIRD-PARTY-LICENSES'), await formatThirdPartyLicenses(root, inputs));
  for (const file of ['README.md', 'index.d.ts']) await cp(join(source, file), join(folder, file));
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  await writeFile(
    join(folder, 'package.json'),
    `${JSON.stringify(
      {
        name: 'parley-cdk',
        version,
        description: 'Durable tasks between AI agents, as a construct for the AWS CDK',
        license: 'Apache-2.0',
        type: 'module',
        exports: { '.': { types: './index.d.ts', default: './index.js' } },
        files: ['index.js', 'index.d.ts', 'functions', 'THIRD-PARTY-LICENSES'],
        engines: { node: `>=${NODE}` },
        peerDependencies: { 'aws-cdk-lib': '^2.276.0', constructs: '^10.8.1' },
      },
      null,
      2,
    )}\n`,
  );
  return packFolder(folder, destination);
};

/** They are three quarters of the package. */
const removeSourceMaps = async (folder: string): Promise<void> => {
  for (const file of await readdir(folder, { recursive: true }))
    if (file.endsWith('.map')) await rm(join(folder, file));
};
