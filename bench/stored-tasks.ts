import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';

const TRANSACTION = 10_000;

/** A row that one life left behind, cut into pieces at the ids that differ from life to life. */
interface Template {
  insert: StatementSync;
  /** By column; what is no text is the same in every row. */
  columns: ((ids: string[]) => SQLInputValue)[];
}

/** Stores as many ended tasks again as are wanted, with everything that one of them left in the database. */
export const storeTasks = (dir: string, taskId: string, wanted: number): Promise<void> =>
  storeAgain(dir, (db) => [taskId, resultIdOf(db, taskId)], wanted);

/**
 * Stores again, as often as is wanted, every row in which one of the ids stands: a record and its events, each time under new
 * random ids. The server must be down.
 */
export const storeAgain = async (dir: string, idsIn: (db: DatabaseSync) => string[], wanted: number): Promise<void> => {
  const db = new DatabaseSync(join(dir, 'parley.db'));
  // What is lost in a power failure here is made again by the next run.
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
    // Ctrl-C is heard in between.
    await turn();
  }
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
};

/** The message that ended the task is a second id that belongs to this life only. */
const resultIdOf = (db: DatabaseSync, taskId: string): string => {
  const row = db.prepare(`SELECT body ->> '$.endedBy.id' AS id FROM records WHERE sk = 'task' AND pk LIKE ?`);
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
  // An integer primary key numbers the rows by itself.
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
