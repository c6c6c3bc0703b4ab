import { join } from 'node:path';
import config from '../parley.config.ts';
import { type Measured, startLoad } from './load.ts';
import type { Counts } from './options.ts';
import { ended, forked, removeFolder, temporaryFolder } from './own-processes.ts';
import { startServer } from './server.ts';

/** Alternates with runs without streams on the same server. */
export interface StreamCost {
  label: string;
  streams: number;
  without: Measured[];
  withStreams: Measured[];
}

const shared = (keys: string[], streams: number): string[] =>
  Array.from({ length: streams }, (_, at) => keys[Math.floor(at / config.limits.streamsPerKey)] ?? '');

const MANY = 500;

export const measureStreams = async ({ warmUp, rounds, livesPerRound }: Counts): Promise<StreamCost[]> => {
  const dir = temporaryFolder();
  const server = await startServer(dir);
  const load = await startLoad(server, 'oneByOne');
  const readers = forked(join(import.meta.dirname, 'stream-readers.ts'), [], { execArgv: [] });
  const { promise: broken, reject } = Promise.withResolvers<never>();
  broken.catch(() => {});
  readers.once('exit', () => reject(new Error('the readers of streams ended')));
  const open = (keys: string[]): Promise<unknown> => {
    const answer = new Promise((resolve) => readers.once('message', resolve));
    readers.send({ port: server.port, keys });
    return Promise.race([answer, broken]);
  };
  const perKey = config.limits.streamsPerKey;
  const listeners: string[] = [];
  while (listeners.length * perKey < MANY) listeners.push(await server.register(`listener-${listeners.length}`));
  const cases = [
    { label: 'of an agent that serves the domain', keys: shared(listeners, perKey) },
    { label: 'of the administrator, who hears all', keys: shared([server.adminKey], perKey) },
    { label: `of ${listeners.length} agents that serve the domain`, keys: shared(listeners, MANY) },
  ];
  await load.run(warmUp);
  const costs: StreamCost[] = [];
  for (const { label, keys } of cases) {
    const cost: StreamCost = { label, streams: keys.length, without: [], withStreams: [] };
    for (let round = 0; round < rounds; round++) {
      await open([]);
      cost.without.push(await load.run(livesPerRound));
      await open(keys);
      cost.withStreams.push(await load.run(livesPerRound));
    }
    costs.push(cost);
  }
  await ended(readers, 'SIGTERM');
  await load.stop();
  await server.stop();
  removeFolder(dir);
  return costs;
};
