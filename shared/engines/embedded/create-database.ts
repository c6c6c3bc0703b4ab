import { randomInt } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { FIRST_POSITION } from './journal.ts';
import { buildSqlSchema, STORAGE_FORMAT } from './sql-schema.ts';

/**
 * A new database with an identity of its own. That stands in the head of the file before there is a WAL, so that a WAL which is
 * laid over it later cannot hide whose file it is.
 */
export const createDatabase = (
  path: string,
  beforeTables: (store: number) => void = () => {},
  format = STORAGE_FORMAT,
): DatabaseSync => {
  const store = randomInt(1, 2 ** 31);
  const { part, checksum } = FIRST_POSITION;
  const sql = new DatabaseSync(path);
  // Records of 2 or 3 KB fill pages of 4 KB badly, and with 16 KB a single write drags along too much.
  sql.exec(`PRAGMA page_size = 8192; PRAGMA locking_mode = EXCLUSIVE; PRAGMA application_id = ${store}`);
  sql.exec('PRAGMA journal_mode = WAL');
  beforeTables(store);
  sql.exec(`BEGIN IMMEDIATE; ${buildSqlSchema(format)};
    INSERT INTO journal VALUES (${part}, ${checksum}, ${store}); PRAGMA user_version = ${format}; COMMIT`);
  return sql;
};
