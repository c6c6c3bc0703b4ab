import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';

const TRANSACTION = 10_000;

/** A row of one task cycle, split at the ids that differ between cycles. */
interface Template {
  insert: StatementSync;
  columns: ((ids: string[]) => SQLInputValue)[];
}

export const storeTasks = (dir: string, taskId: string, wanted: number): Promise<void> =>
  storeAgain(dir, (db) => [taskId, resultIdOf(db, taskId)], wanted);

/** Copies every row that contains one of the ids, under new random ids. The server must be down. */
export const storeAgain = async (dir: string, idsIn: (db: DatabaseSync) => string[], wanted: number): Promise<void> => {
  const db = new DatabaseSync(join(dir, 'parley.db'));
  // The next run restores what a power failure loses here.
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -4194304');
  const ids = idsIn(db);
  const templates = tablesOf(db).flatMap((table) => templatesIn(db, table, ids));
  for (let stored = 0; stored < wanted; ) {
    db.exec('BEGIN');
    for (const end = Math.min(wanted, stored + TRANSACTION); stored < end; stored++) {
      const fresh = ids.map(() => randomUUID());
      for (const { insert, columns } of templates) insert.run(...columns.map((column) => column(fresh)));
    }
    db.exec('COMMIT');
    // Lets Ctrl-C through.
    await turn();
  }
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
};

const resultIdOf = (db: DatabaseSync, taskId: string): string => {
  const row = db.prepare(`SELECT body ->> '$.endMessage.id' AS id FROM records WHERE sk = 'task' AND pk LIKE ?`);
  const id = row.get(`%${taskId}`)?.id;
  if (typeof id !== 'string') throw new Error(`the task ${taskId} has no result to store again`);
  return id;
};

const tablesOf = (db: DatabaseSync): string[] =>
  db
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
    .all()
    .map(({ name }) => String(name));

const templatesIn = (db: DatabaseSync, table: string, ids: string[]): Template[] => {
  const info = db.prepare(`PRAGMA table_info(${table})`).all();
  // SQLite assigns an integer primary key itself.
  const names = info.filter(({ pk, type }) => !(pk === 1 && type === 'INTEGER')).map(({ name }) => String(name));
  const insert = db.prepare(`INSERT INTO ${table} (${names.join()}) VALUES (${names.map(() => '?').join()})`);
  const rows = db.prepare(`SELECT ${names.join()} FROM ${table}`).all();
  return rows
    .filter((row) => Object.values(row).some((value) => ids.some((id) => String(value).includes(id))))
    .map((row) => ({ insert, columns: names.map((name) => columnFrom(row[name] ?? null, ids)) }));
};

const columnFrom = (value: SQLInputValue, ids: string[]): Template['columns'][number] => {
  if (typeof value !== 'string') return () => value;
  const pieces = value.split(new RegExp(`(${ids.join('|')})`));
  const places = pieces.map((piece) => ids.indexOf(piece));
  return (fresh) => pieces.map((piece, at) => fresh[places[at] ?? -1] ?? piece).join('');
};
