import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { StartError } from '../cli-options.ts';
import { findPython } from './find-python.ts';
import { VERSION } from './localstack.ts';

const SOURCE = join(import.meta.dirname, 'python');
const CACHE = resolve(import.meta.dirname, '../../.cache/localstack');

/** A virtual environment with LocalStack and the executor of `python/`. Returns its Python. */
export const installPackages = async (print: (line: string) => void): Promise<string> => {
  const files = globSync('*.{py,toml,txt}', { cwd: SOURCE }).sort();
  const content = files.map((file) => readFileSync(join(SOURCE, file), 'utf8')).join('\0');
  const folder = join(CACHE, hash('sha256', content).slice(0, 16));
  const python = join(folder, 'bin', 'python');
  if (existsSync(folder)) return python;
  print(`Installing LocalStack ${VERSION} from PyPI: 500 MB in ${CACHE}, once …`);
  mkdirSync(CACHE, { recursive: true });
  const unfinished = mkdtempSync(join(CACHE, 'installing-'));
  const removeUnfinished = (): void => rmSync(unfinished, { recursive: true, force: true });
  process.on('exit', removeUnfinished);
  try {
    await run(await findPython(), '-m', 'venv', unfinished);
    const source = join(unfinished, 'source');
    // Building a package leaves files beside it.
    await run('cp', '-r', SOURCE, source);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    await run(join(unfinished, 'bin', 'python'), ...pip, '-c', join(source, 'constraints.txt'), source);
    renameSync(unfinished, folder);
  } finally {
    removeUnfinished();
    process.off('exit', removeUnfinished);
  }
  return python;
};

const run = async (command: string, ...args: string[]): Promise<void> => {
  await promisify(execFile)(command, args).catch((cause: unknown) => {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : '';
    throw new StartError(`LocalStack could not be installed: ${said || cause}`, { cause });
  });
};
