import { existsSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { putIfNewer } from './put-if-newer.ts';
import { attempt, type Row, readAround, type Table } from './read-around.ts';
import { type DatabaseState, withoutWal } from './read-database.ts';

interface Copied {
  rows: number;
  /** If not empty, rows may have new numbers. */
  unread: string[];
}

const TABLES: Omit<CopiedTable, 'columns'>[] = [
  { name: 'records', key: ['id'], index: { name: 'records_key', by: ['pk', 'sk'] } },
  { name: 'changes', key: ['seq'] },
  { name: 'parked_changes', key: ['seq'] },
  { name: 'messages', key: ['queue', 'seq'] },
  { name: 'events', key: ['seq'], index: { name: 'events_project', by: ['project', 'seq'] } },
];

/** If the WAL is incomplete or older, the file alone is read too. */
export const copyTables = (to: DatabaseSync, path: string, database: DatabaseState): Copied => {
  const unread: string[] = [];
  const views = listViews(path, database, unread);
  const [first, second] = views;
  const tables = TABLES.map((table) => ({ ...table, columns: listColumns(to, table.name) }));
  let rows = 0;
  for (const table of tables) {
    const copied = first ? copyTable(first, to, table) : { rows: 0 };
    rows += copied.rows;
    if (copied.why !== undefined) unread.push(`the table ${table.name} could be read only in part (${copied.why})`);
  }
  if (second && unread.length > 0) for (const table of tables) rows += copyTable(second, to, table, 'more').rows;
  for (const view of views) raiseSequence(view, to);
  for (const table of tables) if (first && unread.length > 0) unread.push(...lookForMissing(first, to, table));
  for (const view of views) view.close();
  return { rows, unread };
};

/** Newest first. */
const listViews = (path: string, { state }: DatabaseState, unread: string[]): DatabaseSync[] => {
  if (!['unreadable', 'of another store', 'readable'].includes(state)) return [];
  const withWal = state === 'of another store' || !existsSync(`${path}-wal`) ? [] : [path];
  const views = [...withWal, withoutWal(path)].flatMap((place) => {
    const view = attempt(() => new DatabaseSync(place, { readOnly: true }));
    if (typeof view === 'string') unread.push(view);
    return typeof view === 'string' ? [] : [view];
  });
  const [one, other] = views;
  if (!one || !other || readPart(other) <= readPart(one)) return views;
  unread.push('the newest rows are those of the file without its WAL');
  return [other, one];
};

const readPart = (sql: DatabaseSync): number => {
  const row = attempt(() => sql.prepare('SELECT part FROM journal').get());
  return typeof row === 'object' ? Number(row.part) : 0;
};

const listColumns = (sql: DatabaseSync, table: string): string[] =>
  sql
    .prepare(`PRAGMA table_info(${table})`)
    .all()
    .map(({ name }) => String(name));

/** The newest version of a record wins, whatever its row number. */
const copyTable = (
  from: DatabaseSync,
  to: DatabaseSync,
  table: CopiedTable,
  more?: 'more',
): { rows: number; why?: string } => {
  const insert = insertInto(to, table);
  let rows = 0;
  const why = readAround(from, table, findHighest(from, table), (row) => {
    if (more && table.name === 'records') putIfNewer(to, row.body ?? null);
    else rows += insert(row);
  });
  return { rows, why };
};

const findHighest = (from: DatabaseSync, { name, key, index }: CopiedTable): number | undefined => {
  if (!index) return undefined;
  const row = attempt(() => from.prepare(`SELECT max(${key[0]}) AS key FROM ${name} INDEXED BY ${index.name}`).get());
  return typeof row === 'object' ? Number(row.key) : undefined;
};

/** Deleted events have used numbers too. */
const raiseSequence = (from: DatabaseSync, to: DatabaseSync): void => {
  const row = attempt(() => from.prepare(`SELECT seq FROM sqlite_sequence WHERE name = 'events'`).get());
  const seq = typeof row === 'object' ? Number(row.seq) : 0;
  to.prepare(`UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'events'`).run(seq);
};

interface CopiedTable extends Table {
  index?: { name: string; by: [string, string] };
}

const insertInto = (to: DatabaseSync, { name, columns }: Table): ((row: Row) => number) => {
  const marks = columns.map(() => '?').join(', ');
  const insert = to.prepare(`INSERT OR IGNORE INTO ${name} (${columns.join(', ')}) VALUES (${marks})`);
  return (row) => Number(insert.run(...columns.map((column) => row[column] ?? null)).changes);
};

const lookForMissing = (from: DatabaseSync, to: DatabaseSync, table: CopiedTable): string[] => {
  if (!table.index) return [];
  const { name, by } = table.index;
  const insert = insertInto(to, table);
  const isThere = to.prepare(`SELECT 1 FROM ${table.name} WHERE ${by[0]} = ? AND ${by[1]} = ?`);
  const read = attempt(() =>
    from.prepare(`SELECT ${table.columns.join(', ')} FROM ${table.name} NOT INDEXED WHERE ${table.key[0]} = ?`),
  );
  if (typeof read === 'string') return [];
  let missing = 0;
  const look = (key: SQLInputValue): void => {
    const row = attempt(() => read.get(key));
    if (typeof row === 'string') missing += 1;
    // Another record may have this row number by now.
    else if (row && insert(row) === 0 && table.name === 'records') putIfNewer(to, row.body ?? null);
  };
  const listNamedRows = (order: string): string | undefined => {
    const rows = attempt(() =>
      from
        .prepare(`SELECT ${by.join(', ')}, ${table.key[0]} AS key FROM ${table.name}
      INDEXED BY ${name} ORDER BY ${by.map((column) => `${column} ${order}`).join(', ')}`)
        .iterate(),
    );
    for (;;) {
      const next = typeof rows === 'string' ? rows : attempt(() => rows.next());
      if (typeof next === 'string') return next;
      if (next.done) return undefined;
      if (!isThere.get(next.value[by[0]] ?? null, next.value[by[1]] ?? null)) look(next.value.key ?? null);
    }
  };
  const why = listNamedRows('ASC');
  if (why !== undefined) listNamedRows('DESC');
  const count = `${why === undefined ? '' : 'at least '}${missing} rows`;
  return missing === 0 ? [] : [`${count} are missing from ${table.name}`];
};
