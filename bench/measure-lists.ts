import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { LISTED_KINDS } from '../shared/effects/listed-kinds.ts';
import { rebuildLists } from '../shared/engines/embedded/list-table.ts';
import { Connection } from './connection.ts';
import { percentile } from './numbers.ts';
import type { Counts } from './options.ts';
import { removeFolder, temporaryFolder } from './own-processes.ts';
import { startServer } from './server.ts';
import { storeTasks } from './stored-tasks.ts';
import { CAPABILITY, requestOf, resultOf } from './wire.ts';

export interface ListCost {
  query: string;
  found: number;
  p50Ms: number;
  maxMs: number;
  /** The same with a count of all matches. */
  countedP50Ms: number;
  counted: string;
}

export interface Lists {
  stored: number;
  costs: ListCost[];
}

const RARE = 'home.scene';
const ROUNDS = 20;

interface TaskPage {
  tasks: { id: string }[];
  count?: { value: number; isExact: boolean };
  cursor?: string;
}

/** One open task and one that failed, before as many completed tasks as are stored, of the same requester and holder. */
export const measureLists = async ({ stored }: Counts): Promise<Lists> => {
  const dir = temporaryFolder();
  const { completed, rare } = await storeThree(dir);
  await storeTasks(dir, completed, stored);
  listAgain(dir);
  const server = await startServer(dir);
  const connection = new Connection(server.port, server.adminKey);
  const costs: ListCost[] = [];
  for (const [query, wanted] of listQueries(rare)) costs.push(await measureQuery(connection, query, wanted));
  connection.close();
  await server.stop();
  removeFolder(dir);
  return { stored, costs };
};

const listQueries = (rare: string): [query: string, found: number][] => [
  [`type=${RARE}`, 1],
  ['status=requested', 1],
  ['error=skill_missing', 1],
  ['status=failed,expired', 1],
  [`requester=asker&type=${RARE}`, 1],
  ['holder=worker&status=failed', 1],
  [`agent=asker&domain=home&status=requested`, 1],
  [`type=${CAPABILITY}&status=failed`, 1],
  [`idPrefix=${rare.slice(0, 20)}`, 1],
  ['retrying=true', 0],
  ['conversation=none', 0],
  ['requester=nobody', 0],
  [`until=2020-01-01T00:00:00Z`, 0],
  ['', 20],
  ['status=completed&holder=worker', 20],
];

const measureQuery = async (connection: Connection, query: string, wanted: number): Promise<ListCost> => {
  const call = async (more: string): Promise<{ ms: number; page: TaskPage }> => {
    const begun = performance.now();
    const body = await connection.call('GET', `/v1/tasks?${query}${more}`, '', 200);
    return { ms: performance.now() - begun, page: JSON.parse(body) };
  };
  const plain: number[] = [];
  const counting: number[] = [];
  let counted: TaskPage['count'];
  for (let round = 0; round < ROUNDS; round++) {
    const { ms, page } = await call('');
    if (page.tasks.length !== wanted || (wanted < 20 && page.cursor !== undefined))
      throw new Error(`${query} found ${page.tasks.length} instead of ${wanted}, cursor ${page.cursor}`);
    plain.push(ms);
    const withCount = await call('&count=true');
    counting.push(withCount.ms);
    counted = withCount.page.count;
  }
  return {
    query,
    found: wanted,
    p50Ms: percentile(plain, 50),
    maxMs: Math.max(...plain),
    countedP50Ms: percentile(counting, 50),
    counted: counted ? `${counted.value}${counted.isExact ? '' : ' or more'}` : '',
  };
};

const storeThree = async (dir: string): Promise<{ completed: string; rare: string }> => {
  const server = await startServer(dir);
  const asker = new Connection(server.port, await server.register('asker'));
  const worker = new Connection(server.port, await server.register('worker'));
  const [rare, failed, completed] = [randomUUID(), randomUUID(), randomUUID()];
  const open = requestOf('asker', rare).replace(CAPABILITY, RARE);
  await asker.call('POST', '/v1/messages', open, 202);
  for (const id of [failed, completed]) {
    await asker.call('POST', '/v1/messages', requestOf('asker', id), 202);
    await worker.call('POST', '/v1/claims', '{"wait":5}', 200);
    const result = JSON.parse(resultOf('worker', id));
    const failure = { ...result, type: 'task.failed', payload: { error: 'skill_missing', message: 'no' } };
    await worker.call('POST', '/v1/messages', JSON.stringify(id === failed ? failure : result), 202);
  }
  asker.close();
  worker.close();
  await server.stop();
  return { completed, rare };
};

/** As the server does it in a migration. */
const listAgain = (dir: string): void => {
  const db = new DatabaseSync(join(dir, 'parley.db'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -1048576; BEGIN');
  rebuildLists(db, LISTED_KINDS);
  db.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
};
