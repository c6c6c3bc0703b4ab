import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { listProcesses } from './support/groups.ts';

/** Runs all tests, with further options for `node --test` from the command line. */

const ROOT = resolve(import.meta.dirname, '..');
/** Reading the sources is most of what a short test costs. */
const NODE_COMPILE_CACHE = resolve(ROOT, 'node_modules/.cache/compiled');

const child = spawn(process.execPath, ['--test', ...process.argv.slice(2), ...listProcesses()], {
  cwd: ROOT,
  env: { NODE_COMPILE_CACHE, ...process.env },
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
const [code] = await once(child, 'exit');
process.exitCode = code ?? 1;
