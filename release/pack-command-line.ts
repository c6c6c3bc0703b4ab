import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundlePrograms, NODE } from './bundle-programs.ts';
import { packFolder } from './run-command.ts';
import { formatThirdPartyLicenses } from './third-party.ts';

/** The command line and the server, one file each: neither needs a package beside it. */
export const packCommandLine = async (root: string, destination: string, version: string): Promise<string> => {
  const folder = join(destination, 'parley-cli');
  const inputs = await bundlePrograms(root, folder);
  await cp(join(root, 'cli', 'README.md'), join(folder, 'README.md'));
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  await writeFile(join(folder, 'THIRD-PARTY-LICENSES'), await formatThirdPartyLicenses(root, inputs));
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
