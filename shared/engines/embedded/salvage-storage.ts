import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { copyTables } from './copy-tables.ts';
import { createDatabase } from './create-database.ts';
import type { StorageDamageError } from './inspect-storage.ts';
import { decodeRuns, Journal, type RecordedRun } from './journal.ts';
import { putIfNewer } from './put-if-newer.ts';
import { beginRebuilding, declareRebuilt, putInPlace } from './rebuilt-storage.ts';
import { INSERT_RECORD } from './record-table.ts';

export interface SalvageReport {
  /** Where the damaged files are now. */
  aside: string;
  /** Rows of the old database that could be read. */
  rows: number;
  /** Groups of writes that followed from it, and those that were read behind a gap. */
  groups: number;
  groupsBehind: number;
  /** What could not be read. */
  missing: string;
}

/**
 * Makes a new storage of what can be read, and puts the damaged files aside. Until the new one is whole and on the disk, nothing is
 * moved: a start that ends half-way finds the damage again. One that ends later is finished by the next.
 */
export const salvageStorage = (path: string, damage: StorageDamageError): SalvageReport => {
  const fresh = beginRebuilding(path);
  const sql = createDatabase(fresh, (store) => Journal.create(fresh, store).close());
  sql.exec('BEGIN');
  const { rows, unread } = copyTables(sql, path, damage.database);
  const isWhole = unread.length === 0;
  const [exact, loose] = isWhole
    ? [damage.entries, damage.unreachableEntries]
    : [[], [...damage.entries, ...damage.unreachableEntries]];
  for (const entry of exact) for (const [text, ...values] of decodeRuns(entry)) sql.prepare(text).run(...values);
  for (const entry of loose) for (const run of decodeRuns(entry)) replayStatement(sql, run);
  sql.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
  sql.close();
  const missing = [damage.message, ...unread].join('; ');
  const counts = { rows, groups: exact.length, groupsBehind: loose.length };
  const salvaged = { aside: buildAsidePath(dirname(path)), ...counts, missing };
  declareRebuilt(path, salvaged);
  return putInPlace(path) ?? salvaged;
};

const buildAsidePath = (folder: string): string => {
  const name = `damaged-${new Date().toISOString().replaceAll(':', '-')}`;
  return join(folder, name);
};

/**
 * A statement behind a gap cannot be run as it is: the row that it means by number may be another. But it holds the whole record,
 * and the newest of each record is what it is. What a lost change would have led to is not made up for.
 */
const replayStatement = (sql: DatabaseSync, [text, ...values]: RecordedRun): void => {
  if (text === INSERT_RECORD) putIfNewer(sql, values[2]);
  else if (text.startsWith('UPDATE records SET body = ?')) putIfNewer(sql, values[0]);
  else if (text.startsWith('INSERT INTO ')) sql.prepare(text.replace('INSERT', 'INSERT OR IGNORE')).run(...values);
  else if (text.startsWith('DELETE FROM messages') || text.startsWith('DELETE FROM changes'))
    sql.prepare(text).run(...values);
};
