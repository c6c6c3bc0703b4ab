import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const CACHE = resolve(import.meta.dirname, '../../node_modules/.cache');
const INSTALL_MS = 300_000;

export interface OutsidePackages {
  folder: string;
  // biome-ignore lint/suspicious/noExplicitAny: what is not in the lock file has no types here
  load(module: string): Promise<any>;
}

/** Packages that stand outside the lock file: they need a newer Node.js, or are only looked at from outside. */
export const installOutside = (name: string, packages: readonly string[], options: string[] = []): OutsidePackages => {
  const folder = join(CACHE, name);
  const main = join(folder, 'main.mjs');
  if (!existsSync(main)) {
    const begun = `${folder}.${process.pid}`;
    mkdirSync(begun, { recursive: true });
    writeFileSync(join(begun, 'package.json'), '{"private":true,"type":"module"}');
    const args = ['install', '--no-audit', '--no-fund', '--silent', '--save-exact', ...options, ...packages];
    execFileSync('npm', args, { cwd: begun, timeout: INSTALL_MS });
    // Names are resolved from where the importing file stands.
    writeFileSync(join(begun, 'main.mjs'), 'export const load = (module) => import(module);\n');
    rmSync(folder, { recursive: true, force: true });
    renameSync(begun, folder);
  }
  return { folder, load: async (module) => (await import(pathToFileURL(main).href)).load(module) };
};
