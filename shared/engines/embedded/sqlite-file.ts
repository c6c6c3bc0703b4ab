import { closeSync, fdatasync, fdatasyncSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementResultingChanges, type StatementSync } from 'node:sqlite';
import type { ListedKinds } from '../../ports/lists.ts';
import type { RecordMigrations } from '../../ports/record-migration.ts';
import { createDatabase } from './create-database.ts';
import {
  checkPages,
  followJournalPart,
  inspectStorage,
  readStoreId,
  STORE_ID_FILE,
  StorageDamageError,
  type StorageInspection,
} from './inspect-storage.ts';
import { buildJournalPaths, decodeRuns, Journal, type JournalTip, type RecordedRun } from './journal.ts';
import { type JournalEntry, readJournalFile, syncFolder } from './journal-file.ts';
import { type MigrationReport, migrateStorage } from './migrate-storage.ts';
import { isNoSpaceError } from './no-space-error.ts';
import { putInPlace } from './rebuilt-storage.ts';
import { type SalvageReport, salvageStorage } from './salvage-storage.ts';
import { STORAGE_FORMAT } from './sql-schema.ts';

/** A statement that writes. */
export interface RecordedStatement {
  run(...values: SQLInputValue[]): StatementResultingChanges;
}

export interface StorageOptions {
  /** Goes on with what can be read, and says so; otherwise damage is thrown. */
  acceptDamage?: (salvaged: SalvageReport) => void;
  migrations?: RecordMigrations;
  lists?: ListedKinds;
  onMigrated?: (report: MigrationReport) => void;
}

/** What was kept, for whoever syncs it. */
export interface FlushedGroup extends JournalTip {
  /** Nothing more may be kept before it is synced. */
  mustSync: boolean;
}

/**
 * The room that must be there, on the disk, before a write may run: an operation cannot be taken back once it has. What follows
 * from others is let in for longer, so that a disk which fills up finds everything that was accepted done.
 */
const RESERVED_BYTES = { request: 512 * 1024, following: 128 * 1024 };
export type WriteOrigin = keyof typeof RESERVED_BYTES;

/** After so long without a later entry, the journal itself is told how far it is on the disk. */
const SYNC_MARK_MS = 1000;
/** Where a commit found no room, so often is looked whether there is more, and so often it is tried again at the least. */
const FREE_SPACE_CHECK_MS = 1000;
/** Where the journal found no room, so often is looked whether there is some. */
const RESERVE_RETRY_MS = 200;
const RETRY_MS = 30_000;
const AUTO_CHECKPOINT = 'PRAGMA wal_autocheckpoint = 4096';
/** Worth another try. */
const MIN_FREED_BYTES = 1024 * 1024;

/**
 * One SQLite file with a journal before it. Statements run at once, in a transaction that stays open; what they were stands in the
 * journal, which is far less to write than the pages that they touch. When the journal is full SQLite commits, and after a
 * crash the statements that it had not committed are run again.
 */
export class SqliteFile {
  readonly sql: DatabaseSync;
  readonly #path: string;
  /** SQLite's own log, where its commits are. */
  readonly #walDescriptor: number;
  readonly #journal: Journal;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #setPart: StatementSync;
  readonly #onError: (error: unknown) => void;
  /** What ran since the journal was written to, and about how much room it takes there. */
  #statements: RecordedRun[] = [];
  #bytes = 0;
  #isInTransaction = false;
  /** A commit that is on its way to the disk. */
  #committing: Promise<void> | undefined;
  /** The power failed before the last commit was on the disk: the next one must be before the journal goes on. */
  #isBehind = false;
  /** SQLite could not commit for want of room. */
  #blocked: { lookAt: number; retryAt: number; free: number } | undefined;
  #nextReserveAt = 0;
  #syncMarkTimer: NodeJS.Timeout | undefined;
  /** The row numbers of records that the journal brought back. */
  #replayed = new Set<number>();
  /** The last thing before SQLite commits. */
  onBeforeRotation: () => void = () => {};

  constructor(path: string, failed: (error: unknown) => void, options: StorageOptions = {}) {
    this.#path = path;
    this.#onError = failed;
    const found = inspectOrSalvage(path, options) ?? createStorage(path);
    this.sql = new DatabaseSync(path);
    // The lock is kept for good, so that a second process on the same file fails at once. Asked for first, it spares a file of 32 KB.
    this.sql.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL');
    // NORMAL leaves the sync after a commit to us; SQLite still syncs around each checkpoint.
    this.sql.exec(`PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536; ${AUTO_CHECKPOINT}`);
    // A statement that writes pages to make room in memory could fail half-way for want of room on the disk.
    this.sql.exec('PRAGMA journal_size_limit = 67108864; PRAGMA cache_spill = OFF');
    this.#begin = this.sql.prepare('BEGIN IMMEDIATE');
    this.#commit = this.sql.prepare('COMMIT');
    this.#setPart = this.sql.prepare('UPDATE journal SET part = ?, checksum = ?');
    this.#beginTransaction();
    this.#walDescriptor = openSync(`${path}-wal`, 'r+');
    this.#journal = Journal.resume(path, found.position);
    this.#replayEntries(found.entries);
    this.#isBehind = found.position.part > found.committed.part;
    fdatasyncSync(this.#walDescriptor);
    writeStoreId(path, found.committed.store);
    if (found.committed.format < STORAGE_FORMAT) this.#migrate(found.committed.format, options);
  }

  /** What the journal holds is of the earlier format: it is committed, and on the disk, before anything else. */
  #migrate(format: number, { migrations = {}, lists = {}, onMigrated }: StorageOptions): void {
    try {
      if (this.#journal.groups > 0) {
        this.#journal.reserveNext(RESERVED_BYTES.request);
        this.#commitJournalPart();
        fdatasyncSync(this.#walDescriptor);
        this.#isBehind = false;
      } else {
        this.#commit.run();
        this.#isInTransaction = false;
      }
      const report = migrateStorage(this.sql, format, migrations, lists);
      fdatasyncSync(this.#walDescriptor);
      onMigrated?.(report);
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  prepareWrite(text: string): RecordedStatement {
    const statement = this.sql.prepare(text);
    return {
      run: (...values) => {
        if (!this.#isInTransaction) this.#beginTransaction();
        this.#statements.push([text, ...values]);
        this.#bytes += estimateBytes(values);
        return statement.run(...values);
      },
    };
  }

  /** Follows from what the journal has, which therefore does not have it: SQLite commits it with the rest. */
  runDerived(statement: StatementSync, ...values: SQLInputValue[]): void {
    if (!this.#isInTransaction) this.#beginTransaction();
    statement.run(...values);
  }

  takeReplayedRecords(): number[] {
    if (this.#replayed.size === 0) return [];
    const ids = [...this.#replayed];
    this.#replayed.clear();
    return ids;
  }

  /** Whether a write may run: what it will put into the journal has its place there. Throws what else is wrong with the disk. */
  hasCapacityFor(origin: WriteOrigin): boolean {
    if (this.#blocked && !this.#retryRotation() && origin === 'request') return false;
    // What is told of its changes takes about as much again.
    const bytes = 2 * this.#bytes + RESERVED_BYTES[origin];
    if (this.#journal.hasCapacityFor(bytes)) return true;
    // Finding out takes some writes, which must not be the price of every refusal.
    const now = performance.now();
    if (now < this.#nextReserveAt) return false;
    try {
      this.#journal.reserve(bytes);
      return true;
    } catch (error) {
      if (!isNoSpaceError(error)) throw error;
      this.#nextReserveAt = now + RESERVE_RETRY_MS;
      return false;
    }
  }

  /**
   * Puts into the journal what has run since the last time: it survives this process from now on, and a power failure once the
   * file that is given back is synced.
   */
  flush(): FlushedGroup {
    if (this.#statements.length > 0) this.#journal.append(this.#statements);
    this.#statements = [];
    this.#bytes = 0;
    const { tip } = this.#journal;
    const mustSync = this.#journal.isFull && !this.#committing && !this.#blocked && this.#rotateJournal();
    return { ...tip, mustSync };
  }

  /** Commits stay in the WAL, and the database file as it is, until the function that is returned is called. */
  holdCheckpoints(): () => void {
    this.sql.exec('PRAGMA wal_autocheckpoint = 0');
    return () => this.sql.exec(AUTO_CHECKPOINT);
  }

  /** What was kept is on the disk. */
  markSynced(kept: FlushedGroup): void {
    this.#journal.markSynced(kept);
    this.#markSoon();
  }

  /** Where there is no room for the mark, all that it tells of is on the disk nevertheless. */
  #markSoon(): void {
    this.#syncMarkTimer ??= setTimeout(() => {
      this.#syncMarkTimer = undefined;
      try {
        this.#journal.writeSyncMark();
      } catch (error) {
        if (isNoSpaceError(error)) this.#markSoon();
        else this.#onError(error);
      }
    }, SYNC_MARK_MS).unref();
  }

  /** While the last commit is on its way to the disk. */
  get pendingCommit(): Promise<void> | undefined {
    return this.#committing;
  }

  /** Once all is kept that ran, and nothing is on its way. */
  close(): void {
    try {
      if (this.#isInTransaction && this.#journal.groups > 0) {
        this.onBeforeRotation();
        this.#commitJournalPart();
      }
      fdatasyncSync(this.#walDescriptor);
    } catch (error) {
      // All of it is in the journal.
      if (!isNoSpaceError(error)) throw error;
    } finally {
      this.abandon();
    }
  }

  /** Where nothing more can be written. */
  abandon(): void {
    clearTimeout(this.#syncMarkTimer);
    this.#journal.close();
    closeSync(this.#walDescriptor);
    this.sql.close();
  }

  #beginTransaction(): void {
    this.#begin.run();
    this.#isInTransaction = true;
  }

  /** Whether the next part of the journal begins. Where there is no room for the commit, all stays as it is. */
  #rotateJournal(): boolean {
    try {
      this.#journal.reserveNext(RESERVED_BYTES.request);
      this.onBeforeRotation();
      this.#commitJournalPart();
    } catch (error) {
      if (!isNoSpaceError(error)) throw error;
      this.#markBlocked();
      return false;
    }
    this.#blocked = undefined;
    if (this.#isBehind) fdatasyncSync(this.#walDescriptor);
    else this.#committing = this.#syncWal();
    this.#isBehind = false;
    return true;
  }

  /** SQLite commits, and names the next part of the journal as the one that it does not hold. */
  #commitJournalPart(): void {
    const ended = this.#journal.rotate();
    try {
      this.#setPart.run(this.#journal.part, this.#journal.checksum);
      this.#commit.run();
      this.#isInTransaction = false;
    } catch (error) {
      this.#journal.undoRotation(ended);
      // SQLite takes back the whole transaction; the journal holds all of it.
      if (!this.sql.isTransaction) this.#replayJournal();
      throw error;
    }
  }

  #markBlocked(): void {
    const now = performance.now();
    this.#blocked = { lookAt: now + FREE_SPACE_CHECK_MS, retryAt: now + RETRY_MS, free: this.#getFreeBytes() };
  }

  #retryRotation(): boolean {
    const now = performance.now();
    if (!this.#blocked || now < this.#blocked.lookAt || this.#statements.length > 0 || this.#committing) return false;
    this.#blocked.lookAt = now + FREE_SPACE_CHECK_MS;
    if (this.#getFreeBytes() < this.#blocked.free + MIN_FREED_BYTES && now < this.#blocked.retryAt) return false;
    fdatasyncSync(this.#journal.tip.descriptor);
    return this.#rotateJournal();
  }

  #getFreeBytes(): number {
    const { bavail, bsize } = statfsSync(dirname(this.#path));
    return bavail * bsize;
  }

  /** The next turn overwrites what led to this commit. */
  #syncWal(): Promise<void> {
    return new Promise((resolve) => {
      fdatasync(this.#walDescriptor, (error) => {
        this.#committing = undefined;
        if (error) this.#onError(error);
        resolve();
      });
    });
  }

  /** Everything that the journal holds and SQLite has not committed. */
  #replayJournal(): void {
    this.#isInTransaction = false;
    const { part, checksum, store } = this.sql.prepare('SELECT part, checksum, store FROM journal').get() ?? {};
    let committed = { part: Number(part), checksum: Number(checksum), store: Number(store) };
    this.#beginTransaction();
    for (; committed.part <= this.#journal.part; ) {
      const { entries, position } = followJournalPart(
        readJournalFile(buildJournalPaths(this.#path)[committed.part % 2 === 0 ? 0 : 1]),
        committed,
      );
      this.#replayEntries(entries);
      committed = { ...position, part: committed.part + 1 };
    }
    if (committed.checksum !== this.#journal.checksum)
      throw new Error('the journal does not hold what was written to it');
  }

  #replayEntries(entries: JournalEntry[]): void {
    const statements = new Map<string, StatementSync>();
    for (const entry of entries) {
      for (const [text, ...values] of decodeRuns(entry)) {
        const statement = statements.get(text) ?? this.sql.prepare(text);
        statements.set(text, statement);
        const id = toRecordId(text, values, statement.run(...values));
        if (id !== undefined) this.#replayed.add(id);
      }
    }
  }
}

/** Of a statement that writes one record. */
const toRecordId = (
  text: string,
  values: SQLInputValue[],
  { changes, lastInsertRowid }: StatementResultingChanges,
): number | undefined => {
  if (Number(changes) === 0 || !/^(INSERT OR IGNORE INTO|UPDATE|DELETE FROM) records /.test(text)) return undefined;
  return Number(text.startsWith('INSERT') ? lastInsertRowid : values.at(-1));
};

const inspectOrSalvage = (
  path: string,
  { acceptDamage: accept, migrations = {}, lists = {} }: StorageOptions,
): StorageInspection | undefined => {
  const finished = putInPlace(path);
  if (finished) accept?.(finished);
  try {
    const found = inspectStorage(path);
    if (found && accept) checkPages(path, found);
    return found;
  } catch (damage) {
    if (!(damage instanceof StorageDamageError) || !accept) throw damage;
    accept(salvageStorage(path, damage, migrations, lists));
    return inspectStorage(path);
  }
};

/** The journal comes before the tables: where there are tables, a journal that is missing was lost. */
const createStorage = (path: string): StorageInspection => {
  for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`]) rmSync(file, { force: true });
  createDatabase(path, (store) => Journal.create(path, store).close()).close();
  syncFolder(dirname(path));
  const made = inspectStorage(path);
  if (!made) throw new Error(`${path} is not there although it was made`);
  return made;
};

const writeStoreId = (path: string, store: number): void => {
  if (readStoreId(path) !== undefined) return;
  const descriptor = openSync(join(dirname(path), STORE_ID_FILE), 'w');
  try {
    writeSync(descriptor, `${store}\n`);
    fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  syncFolder(dirname(path));
};

const estimateBytes = (values: SQLInputValue[]): number => {
  let bytes = 64;
  for (const value of values) bytes += typeof value === 'string' ? value.length : 16;
  return bytes;
};
