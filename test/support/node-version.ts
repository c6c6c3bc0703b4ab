import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { arch } from 'node:os';
import { join, resolve } from 'node:path';

const CACHE = resolve(import.meta.dirname, '../../node_modules/.cache/parley');

/** The folder with this version of `node`, from npm, kept in the project's cache: what users have may be older than ours. */
export const nodeFolder = (version: string): string => {
  const kept = join(CACHE, `node-${version}`);
  if (!existsSync(kept)) fetchNode(version, kept);
  return join(kept, 'bin');
};

const fetchNode = (version: string, kept: string): void => {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'unpacking-'));
  try {
    const quiet = { cwd: folder, stdio: 'pipe' } as const;
    execFileSync('npm', ['pack', '--silent', `node-${process.platform}-${arch()}@${version}`], quiet);
    const [archive = ''] = readdirSync(folder).filter((file) => file.endsWith('.tgz'));
    execFileSync('tar', ['-xzf', archive], quiet);
    // Another test file may have been faster.
    if (!existsSync(kept)) renameSync(join(folder, 'package'), kept);
  } catch (cause) {
    throw new Error(`These tests run on Node.js ${version}, which could not be fetched from npm.`, { cause });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** The oldest that the packages promise to run on. */
export const OLDEST_NODE = { sdk: '20.3.0', server: '22.13.0' };
/** The newest that they are tested on. */
export const NEWEST_NODE = '26.10.0';
