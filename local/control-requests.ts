import { backUpRunning } from './backup-commands.ts';
import { StartError } from './cli-options.ts';
import type { RunningParley } from './composition.ts';
import { findRecords } from './find-records.ts';

/** What the server does for programs of the owner of its folder. */
export const handleControl = (
  dir: string,
  parley: RunningParley,
  { backUp, getRecords }: { backUp?: unknown; getRecords?: { pk?: unknown; sk?: unknown } },
): Promise<unknown> => {
  if (typeof backUp === 'string') return backUpRunning(dir, parley, backUp);
  if (typeof getRecords?.pk === 'string') {
    const { pk, sk } = getRecords;
    return findRecords(parley.deps, { pk, sk: typeof sk === 'string' ? sk : undefined });
  }
  throw new StartError('This server knows no such request.');
};
