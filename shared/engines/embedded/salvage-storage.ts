import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { ListedKinds } from '../../ports/lists.ts';
import type { RecordMigrations } from '../../ports/record-migration.ts';
import { copyTables } from './copy-tables.ts';
import { createDatabase } from './create-database.ts';
import { rebuildEventIndex } from './event-index.ts';
import type { StorageDamageError } from './inspect-storage.ts';
import { decodeRuns, Journal, type RecordedRun } from './journal.ts';
import { rebuildLists } from './list-table.ts';
import { upgradeStoredRecords } from './migrate-storage.ts';
import { putIfNewer } from './put-if-newer.ts';
import { beginRebuilding, declareRebuilt, putInPlace } from './rebuilt-storage.ts';
import { INSERT_RECORD } from './record-table.ts';
import { STORAGE_FORMAT } from './sql-schema.ts';

export interface SalvageReport {
  aside: string;
  rows: number;
  groups: number;
  groupsBehind: number;
  missing: string;
}

/**
 * Moves nothing before the new storage is on disk: an interrupted start finds the damage again, a later one finishes.
 */
export const salvageStorage = (
  path: string,
  damage: StorageDamageError,
  migrations: RecordMigrations,
  lists: ListedKinds,
): SalvageReport => {
  const fresh = beginRebuilding(path);
  const format = 'committed' in damage.database ? damage.database.committed.format : undefined;
  const sql = createDatabase(fresh, (store) => Journal.create(fresh, store).close(), format);
  sql.exec('BEGIN');
  const { rows, unread } = copyTables(sql, path, damage.database);
  const isWhole = unread.length === 0;
  const [exact, loose] = isWhole
    ? [damage.entries, damage.unreachableEntries]
    : [[], [...damage.entries, ...damage.unreachableEntries]];
  for (const entry of exact) for (const [text, ...values] of decodeRuns(entry)) sql.prepare(text).run(...values);
  for (const entry of loose) for (const run of decodeRuns(entry)) replayStatement(sql, run);
  // Of a known format, the next start migrates them.
  if (format === undefined) upgradeStoredRecords(sql, Object.keys(migrations), migrations);
  if ((format ?? STORAGE_FORMAT) === STORAGE_FORMAT) {
    rebuildLists(sql, lists);
    rebuildEventIndex(sql);
  }
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
 * Behind a gap, a row number may mean another row, but the statement holds the whole record. The newest version wins.
 */
const replayStatement = (sql: DatabaseSync, [text, ...values]: RecordedRun): void => {
  if (text === INSERT_RECORD) putIfNewer(sql, values[2]);
  else if (text.startsWith('UPDATE records SET body = ?')) putIfNewer(sql, values[0]);
  else if (text.startsWith('INSERT INTO ')) sql.prepare(text.replace('INSERT', 'INSERT OR IGNORE')).run(...values);
  else if (text.startsWith('DELETE FROM messages') || text.startsWith('DELETE FROM changes'))
    sql.prepare(text).run(...values);
};
