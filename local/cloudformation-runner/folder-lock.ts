import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';

/** The lock ends with the process, however that ends. */
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

const ASK_AGAIN_MS = 100;

export const lockFolderWhenFree = async (dir: string, patienceMs: number): Promise<{ release(): void }> => {
  for (const until = Date.now() + patienceMs; ; await pause(ASK_AGAIN_MS)) {
    try {
      return lockFolder(dir);
    } catch (error) {
      if (Date.now() > until) throw error;
    }
  }
};
