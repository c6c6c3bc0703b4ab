import { once } from 'node:events';
import { join } from 'node:path';
import { ended, forked } from '../own-processes.ts';
import type { FloodJob } from './flooder.ts';
import type { Observed, ObserverJob } from './observer.ts';
import type { FloodResult } from './tally.ts';

export const flood = async (job: FloodJob): Promise<FloodResult> => {
  const child = forked(join(import.meta.dirname, 'flooder.ts'), [JSON.stringify(job)], { execArgv: [] });
  const failed = once(child, 'exit').then(() => Promise.reject(new Error('the flooder ended without a result')));
  failed.catch(() => {});
  const [result]: FloodResult[] = await Promise.race([once(child, 'message'), failed]);
  await ended(child, 'SIGTERM');
  if (!result) throw new Error('the flooder told nothing');
  return result;
};

export interface Observer {
  seen(): Promise<Observed>;
  stop(): Promise<void>;
}

export const startObserver = (job: ObserverJob): Observer => {
  const child = forked(join(import.meta.dirname, 'observer.ts'), [JSON.stringify(job)], { execArgv: [] });
  return {
    seen: async () => {
      const told = once(child, 'message');
      child.send('tell');
      const [seen]: Observed[] = await told;
      if (!seen) throw new Error('the observer told nothing');
      return seen;
    },
    stop: () => ended(child, 'SIGTERM'),
  };
};
