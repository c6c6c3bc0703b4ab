import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from './connection.ts';
import { type Measured, startLoad } from './load.ts';
import type { Counts } from './options.ts';
import { removeFolder, temporaryFolder } from './own-processes.ts';
import { startServer } from './server.ts';
import { storeTasks } from './stored-tasks.ts';
import { type Inbox, requestOf, resultOf } from './wire.ts';

export interface Million {
  stored: number;
  databaseGb: number;
  empty: Measured[];
  full: Measured[];
  ratios: number[];
}

export const measureMillion = async ({ stored, rounds, livesPerRound, warmUp }: Counts): Promise<Million> => {
  const dirs = { empty: temporaryFolder(), full: temporaryFolder() };
  await storeTasks(dirs.full, await oneLife(dirs.full), stored);
  const databaseGb = statSync(join(dirs.full, 'parley.db')).size / 1e9;
  const sides = { empty: await openSide(dirs.empty), full: await openSide(dirs.full) };
  const million: Million = { stored, databaseGb, empty: [], full: [], ratios: [] };
  for (const side of ['empty', 'full'] as const) await sides[side].load.run(warmUp);
  for (let round = 0; round < rounds; round++) {
    // The order alternates, so that a drift of the machine favours neither.
    const order = round % 2 === 0 ? (['empty', 'full'] as const) : (['full', 'empty'] as const);
    for (const side of order) million[side].push(await sides[side].load.run(livesPerRound));
  }
  for (const side of ['empty', 'full'] as const) {
    await sides[side].load.stop();
    await sides[side].server.stop();
    removeFolder(dirs[side]);
  }
  million.ratios = million.full.map(({ livesPerSecond }, at) => livesPerSecond / speedOf(million.empty[at]));
  return million;
};

const speedOf = (measured: Measured | undefined): number => measured?.livesPerSecond ?? Number.NaN;

const openSide = async (dir: string) => {
  const server = await startServer(dir);
  return { server, load: await startLoad(server, 'oneByOne') };
};

const oneLife = async (dir: string): Promise<string> => {
  const server = await startServer(dir);
  const asker = new Connection(server.port, await server.register('asker'));
  const worker = new Connection(server.port, await server.register('worker'));
  const taskId = randomUUID();
  await asker.call('POST', '/v1/messages', requestOf('asker', taskId), 202);
  await worker.call('POST', '/v1/claims', '{"wait":5}', 200);
  await worker.call('POST', '/v1/messages', resultOf('worker', taskId), 202);
  const { messages }: Inbox = JSON.parse(await asker.call('GET', '/v1/inbox?wait=5', '', 200));
  await asker.call('POST', '/v1/inbox/ack', JSON.stringify({ ids: messages.map(({ id }) => id) }), 200);
  asker.close();
  worker.close();
  await server.stop();
  return taskId;
};
