import { setTimeout as pause } from 'node:timers/promises';
import type { Deps } from '../../shared/identity/deps.ts';
import { listQueues } from '../../shared/ports/queue-names.ts';

/** Lambda gives up an init after 10 s. */
const LONGEST_MS = 1000;

/**
 * While an instance starts, it has a whole core, and nobody is charged for a wait: the first call finds open connections, and code
 * that has run before. Whatever fails here fails again where somebody is told.
 */
export const openConnections = async ({ config, queues, records }: Deps): Promise<void> => {
  // Where code is only loaded, nothing is called.
  if (process.env.AWS_LAMBDA_FUNCTION_NAME === undefined) return;
  const queue = listQueues(config.projects).find(({ kind, priority }) => kind === 'domain' && priority === 'normal');
  const called = [records.get({ pk: 'none', sk: 'none' }), queue && queues.count([queue], { max: 1 })];
  await Promise.race([Promise.allSettled(called), pause(LONGEST_MS)]);
};
