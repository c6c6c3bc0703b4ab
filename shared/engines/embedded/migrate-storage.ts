import type { DatabaseSync } from 'node:sqlite';
import type { ListedKinds } from '../../ports/lists.ts';
import type { Fields, RecordMigrations } from '../../ports/record-migration.ts';
import type { Item, RecordChange } from '../../ports/records.ts';
import { rebuildEventIndex } from './event-index.ts';
import { rebuildLists } from './list-table.ts';
import { FIRST_FORMAT, MIGRATION_STEPS, STORAGE_FORMAT } from './sql-schema.ts';
import { restoreChanges, toUndoChange } from './undo-change.ts';

export interface MigrationReport {
  from: number;
  to: number;
  /** Records that were written anew. */
  records: number;
}

const PAGE_ROWS = 500;

/** One transaction: after a crash the storage has its earlier format, or the new one. */
export const migrateStorage = (
  sql: DatabaseSync,
  from: number,
  migrations: RecordMigrations,
  lists: ListedKinds,
): MigrationReport => {
  // Whole tables may change: more than the memory should hold.
  sql.exec('PRAGMA cache_spill = ON; BEGIN IMMEDIATE');
  try {
    const steps = MIGRATION_STEPS.slice(from - FIRST_FORMAT);
    for (const step of steps) if (step.sql) sql.exec(step.sql);
    const kinds = [...new Set(steps.flatMap((step) => step.kinds ?? []))];
    const records = upgradeStoredRecords(sql, kinds, migrations);
    // The lists lack what the journal has brought back.
    rebuildLists(sql, lists);
    rebuildEventIndex(sql);
    sql.exec(`PRAGMA user_version = ${STORAGE_FORMAT}; COMMIT`);
    return { from, to: STORAGE_FORMAT, records };
  } finally {
    if (sql.isTransaction) sql.exec('ROLLBACK');
    sql.exec('PRAGMA cache_spill = OFF');
  }
};

/** The records of the kinds, and the changes of them that have not been delivered. */
export const upgradeStoredRecords = (
  sql: DatabaseSync,
  kinds: readonly string[],
  migrations: RecordMigrations,
): number => {
  const upgrades = kinds.flatMap((kind): [string, Upgrade][] => {
    const migration = migrations[kind]?.migration;
    return migration ? [[kind, (item) => migration.upgrade(item as unknown as Fields) as unknown as Item]] : [];
  });
  // An undo record is undone on the record as it was stored.
  upgradePendingChanges(sql, upgrades);
  let records = 0;
  for (const [kind, upgrade] of upgrades) records += upgradeKind(sql, kind, upgrade);
  return records;
};

type Upgrade = (item: Item) => Item;

const upgradeKind = (sql: DatabaseSync, kind: string, upgrade: Upgrade): number => {
  const page = sql.prepare(
    `SELECT id, body FROM records WHERE id > ? AND (sk = ? OR sk GLOB ?) ORDER BY id LIMIT ${PAGE_ROWS}`,
  );
  const update = sql.prepare('UPDATE records SET body = ? WHERE id = ?');
  let upgraded = 0;
  for (let after = 0; ; ) {
    const rows = page.all(after, kind, `${kind}#*`);
    for (const { id, body } of rows) {
      const item: Item = JSON.parse(String(body));
      const now = upgrade(item);
      if (now === item) continue;
      update.run(JSON.stringify(now), Number(id));
      upgraded += 1;
    }
    if (rows.length < PAGE_ROWS) return upgraded;
    after = Number(rows.at(-1)?.id);
  }
};

const upgradePendingChanges = (sql: DatabaseSync, upgrades: [string, Upgrade][]): void => {
  const upgradeSide = (item: Item | undefined): Item | undefined => {
    const [, upgrade] = upgrades.find(([kind]) => item?.sk === kind || item?.sk.startsWith(`${kind}#`)) ?? [];
    return item && upgrade ? upgrade(item) : item;
  };
  const upgradeChange = ({ before, after }: RecordChange): RecordChange => ({
    before: upgradeSide(before),
    after: upgradeSide(after),
  });
  const pending = sql.prepare('SELECT seq, batch FROM changes ORDER BY seq').all();
  const find = sql.prepare('SELECT body FROM records WHERE pk = ? AND sk = ?');
  const changes = restoreChanges(
    pending.flatMap(({ batch }) => JSON.parse(String(batch))),
    ({ pk, sk }) => {
      const row = find.get(pk, sk);
      return row && JSON.parse(String(row.body));
    },
  );
  sql.exec('DELETE FROM changes');
  if (changes.length > 0) {
    const batch = JSON.stringify(changes.map((change) => toUndoChange(upgradeChange(change))));
    sql.prepare('INSERT INTO changes (seq, batch) VALUES (?, ?)').run(Number(pending.at(-1)?.seq), batch);
  }
  const park = sql.prepare('UPDATE parked_changes SET change = ? WHERE seq = ?');
  for (const { seq, change } of sql.prepare('SELECT seq, change FROM parked_changes').all())
    park.run(JSON.stringify(upgradeChange(JSON.parse(String(change)))), Number(seq));
};
