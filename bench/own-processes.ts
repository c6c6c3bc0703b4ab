import { type ChildProcess, type ForkOptions, fork, type SpawnOptions, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const children = new Set<ChildProcess>();
const folders = new Set<string>();

/** A server that just ended may still be writing. */
const REMOVAL = { recursive: true, force: true, maxRetries: 5 };

/** Runs however the bench ends. */
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, REMOVAL);
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

const owned = (child: ChildProcess): ChildProcess => {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
};

export const spawned = (args: string[], options: SpawnOptions): ChildProcess =>
  owned(spawn(process.execPath, args, options));

export const forked = (script: string, args: string[], options: ForkOptions): ChildProcess =>
  owned(fork(script, args, options));

export const ended = (child: ChildProcess, signal: NodeJS.Signals): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill(signal);
  });

export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  folders.add(folder);
  return folder;
};

export const removeFolder = (folder: string): void => {
  rmSync(folder, REMOVAL);
  folders.delete(folder);
};
