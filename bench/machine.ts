import { execFileSync } from 'node:child_process';
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { median } from './numbers.ts';
import { removeFolder, temporaryFolder } from './own-processes.ts';

export interface Machine {
  node: string;
  commit: string;
  cores: number;
  cpu: string;
  /** Load average of the last minute before the bench. */
  loadBefore: number;
  /** A 4 KB write with its sync. A task cycle has three in sequence. */
  syncMs: number;
}

export const lookAtMachine = (): Machine => ({
  node: process.version,
  commit: commit(),
  cores: cpus().length,
  cpu: cpus()[0]?.model ?? 'unknown',
  loadBefore: loadavg()[0] ?? 0,
  syncMs: syncMs(),
});

const commit = (): string => {
  try {
    const describe = ['--no-optional-locks', 'describe', '--always', '--dirty'];
    return execFileSync('git', describe, { cwd: import.meta.dirname, encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return 'no commit';
  }
};

const syncMs = (): number => {
  const dir = temporaryFolder();
  const file = openSync(join(dir, 'sync'), 'w');
  const page = Buffer.alloc(4096, 'x');
  const times = Array.from({ length: 200 }, () => {
    const start = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    return performance.now() - start;
  });
  closeSync(file);
  removeFolder(dir);
  return median(times);
};
