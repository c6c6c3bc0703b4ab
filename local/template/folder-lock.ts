import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Keeps a folder for one process; whatever ends the process frees it. */
export const lockFolder = (dir: string): { release(): void } => {
  const lock = new DatabaseSync(join(dir, 'lock.db'));
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    throw error;
  }
  return { release: () => lock.close() };
};
