import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EXIT, ExitError, UsageError } from './command.ts';

/** The programs that have the storage: beside the bundle of the package; in a clone, their source. */
const PROGRAMS = {
  server: ['server.mjs', 'main.ts'],
  'aws-records': ['aws-records.mjs', 'aws-records.ts'],
} as const;
type ProgramName = keyof typeof PROGRAMS;

const findProgram = (name: ProgramName): string => {
  const [bundle, source] = PROGRAMS[name];
  const files = [join(import.meta.dirname, bundle), resolve(import.meta.dirname, '..', 'local', source)];
  const found = files.find((file) => existsSync(file));
  if (found) return found;
  throw new ExitError(EXIT.failed, `A part of the program is missing: ${files[0]}. Install parley-cli again.`);
};

export const isNewEnough = (): boolean => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 13);
};

/** What needs the storage itself is done by the program that has it. It says itself what is wrong. */
export const runServerProgram = async (
  args: string[],
  signal: AbortSignal,
  name: ProgramName = 'server',
): Promise<void> => {
  if (!isNewEnough())
    throw new UsageError(`The server needs Node.js 22.13 or newer; this is ${process.versions.node}.`);
  // Node.js 22 still calls its SQLite experimental.
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', findProgram(name), ...args], {
    stdio: 'inherit',
  });
  // Ctrl-C reaches it by itself; a signal to this process alone is passed on.
  signal.addEventListener('abort', () => child.kill('SIGTERM'));
  const [code] = await once(child, 'exit');
  if (code !== 0 && !signal.aborted) throw new ExitError(EXIT.failed);
};
