import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { LISTED_KINDS } from '../shared/effects/listed-kinds.ts';
import { rebuildEventIndex } from '../shared/engines/embedded/event-index.ts';
import { rebuildLists } from '../shared/engines/embedded/list-table.ts';
import { Connection } from './connection.ts';
import { percentile } from './numbers.ts';
import type { Counts } from './options.ts';
import { removeFolder, temporaryFolder } from './own-processes.ts';
import { mainThreadMs } from './process-usage.ts';
import { type ServerProcess, startServer } from './server.ts';
import { storeTasks } from './stored-tasks.ts';
import { CAPABILITY, requestOf, resultOf } from './wire.ts';

export interface ListCost {
  query: string;
  found: number;
  p50Ms: number;
  maxMs: number;
  /** CPU of the slowest: what the others on the machine did is not in it. */
  maxCpuMs: number;
  /** The same with a count of all matches. */
  countedP50Ms: number | undefined;
  counted: string;
}

export interface Lists {
  stored: number;
  costs: ListCost[];
}

const RARE = 'home.scene';
const ROUNDS = 20;

interface Page {
  tasks?: { id: string }[];
  events?: { id: string }[];
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
  const calls: [path: string, found: number][] = [
    ...listQueries(rare).map(([query, found]): [string, number] => [`/v1/tasks?${query}`, found]),
    ...deadLetterQueries().map(([query, found]): [string, number] => [`/v1/dead-letters?${query}`, found]),
    ...eventQueries(rare).map(([query, found]): [string, number] => [`/v1/events?${query}`, found]),
  ];
  for (const [path, wanted] of calls) costs.push(await measureCall(server, connection, path, wanted));
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

const deadLetterQueries = (): [query: string, found: number][] => [
  ['', 1],
  ['error=skill_missing&holder=worker', 1],
  ['error=none', 0],
];

/** All of one task, and the last ones of an agent that is in all of them. */
const eventQueries = (rare: string): [query: string, found: number][] => [
  [`task=${rare}`, 1],
  ['conversation=none', 0],
  ['domain=home&last=5', 1],
  ['agent=asker&last=20', 20],
];

const measureCall = async (
  { pid }: ServerProcess,
  connection: Connection,
  path: string,
  wanted: number,
): Promise<ListCost> => {
  const call = async (more: string): Promise<{ ms: number; cpuMs: number; page: Page }> => {
    const [begun, used] = [performance.now(), mainThreadMs(pid)];
    const body = await connection.call('GET', `${path}${more}`, '', 200);
    return { ms: performance.now() - begun, cpuMs: mainThreadMs(pid) - used, page: JSON.parse(body) };
  };
  const plain: number[] = [];
  const cpu: number[] = [];
  const counting: number[] = [];
  let counted: Page['count'];
  const isCounted = !path.startsWith('/v1/events');
  for (let round = 0; round < ROUNDS; round++) {
    const { ms, cpuMs, page } = await call('');
    const found = (page.tasks ?? page.events ?? []).length;
    // The log is one page up to its end.
    const isRest = isCounted && wanted < 20 && page.cursor !== undefined;
    if (found !== wanted || isRest)
      throw new Error(`${path} found ${found} instead of ${wanted}, cursor ${page.cursor}`);
    plain.push(ms);
    cpu.push(cpuMs);
    if (!isCounted) continue;
    const withCount = await call('&count=true');
    counting.push(withCount.ms);
    cpu.push(withCount.cpuMs);
    counted = withCount.page.count;
  }
  return {
    query: path,
    found: wanted,
    p50Ms: percentile(plain, 50),
    maxMs: Math.max(...plain, ...counting),
    maxCpuMs: Math.max(...cpu),
    countedP50Ms: isCounted ? percentile(counting, 50) : undefined,
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
  rebuildEventIndex(db);
  db.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
};
