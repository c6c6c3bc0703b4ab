import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { StartError } from '../cli-options.ts';

/** LocalStack 4.14.0 is written for 3.13, and has syntax that 3.11 does not know, whatever its package says. */
const VERSIONS = ['3.13', '3.12', '3.14'];
const PRINT_VERSION = 'import sys; print("%d.%d" % sys.version_info[:2])';

/** The one of PARLEY_PYTHON, on the path, or of pyenv. */
export const findPython = async (env: NodeJS.ProcessEnv = process.env): Promise<string> => {
  const { PARLEY_PYTHON: chosen } = env;
  const pyenv = env.PYENV_ROOT ?? join(homedir(), '.pyenv');
  const candidates = chosen
    ? [chosen]
    : [
        ...VERSIONS.map((version) => `python${version}`),
        'python3',
        ...VERSIONS.flatMap((version) => globSync(join(pyenv, 'versions', `${version}.*`, 'bin', 'python3'))),
      ];
  for (const candidate of candidates) if (await isUsable(candidate, env)) return candidate;
  const found = chosen ? `${chosen} is none` : 'there is none on the path';
  throw new StartError(
    `LocalStack needs Python 3.12 or newer with venv, and ${found}. PARLEY_PYTHON can name one that is elsewhere.`,
  );
};

const isUsable = async (command: string, env: NodeJS.ProcessEnv): Promise<boolean> => {
  const { stdout } = await promisify(execFile)(command, ['-c', PRINT_VERSION], { env }).catch(() => ({ stdout: '' }));
  return VERSIONS.includes(stdout.trim());
};
