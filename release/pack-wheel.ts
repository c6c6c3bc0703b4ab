import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from './run-command.ts';

export const packWheel = async (root: string, destination: string, version: string): Promise<string> => {
  const source = join(root, 'sdk', 'python');
  const [, written] = /^version = "(.+)"$/m.exec(await readFile(join(source, 'pyproject.toml'), 'utf8')) ?? [];
  if (written !== version)
    throw new Error(`sdk/python/pyproject.toml has the version ${written}, package.json ${version}.`);
  const build = 'import sys, wheel_backend; print(wheel_backend.build_wheel(sys.argv[1]))';
  return join(destination, (await runCommand('python3', ['-B', '-c', build, destination], source)).trim());
};
