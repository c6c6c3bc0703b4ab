import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementResultingChanges, type StatementSync } from 'node:sqlite';
import { Journal, type Run } from './journal.ts';

/** Raised with every change of what is written; a new file has 0. */
const FORMAT = 4;

const SCHEMA = `
CREATE TABLE IF NOT EXISTS records (
  id INTEGER PRIMARY KEY, pk TEXT NOT NULL, sk TEXT NOT NULL, body TEXT NOT NULL,
  due INTEGER, expires INTEGER, placed_p TEXT, placed_s TEXT, held_p TEXT, held_s TEXT);
CREATE UNIQUE INDEX IF NOT EXISTS records_key ON records (pk, sk);
CREATE INDEX IF NOT EXISTS records_due ON records (due) WHERE due IS NOT NULL;
CREATE INDEX IF NOT EXISTS records_expires ON records (expires) WHERE expires IS NOT NULL;
CREATE INDEX IF NOT EXISTS records_placed ON records (placed_p, placed_s) WHERE placed_s IS NOT NULL;
CREATE INDEX IF NOT EXISTS records_held ON records (held_p, held_s) WHERE held_s IS NOT NULL;
CREATE TABLE IF NOT EXISTS changes (seq INTEGER PRIMARY KEY, batch TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS parked_changes (seq INTEGER PRIMARY KEY, change TEXT NOT NULL, error TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS messages (
  lane TEXT NOT NULL, seq INTEGER NOT NULL, grp TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (lane, seq)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, project TEXT NOT NULL, at INTEGER NOT NULL,
  expires INTEGER NOT NULL, batch TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS events_project ON events (project, seq);
CREATE TABLE IF NOT EXISTS journal (part INTEGER NOT NULL, checksum INTEGER NOT NULL);
-- It begins anywhere, so that the journal of another file is not taken for its own.
INSERT INTO journal SELECT 1 + abs(random() % 1000000000000), 0 WHERE NOT EXISTS (SELECT 1 FROM journal);
PRAGMA user_version = ${FORMAT};
`;

/** The file was written by another version of Parley, and is left as it is. */
export class OtherFormat extends Error {
  readonly by: 'a newer' | 'an older';

  constructor(format: number) {
    const by = format > FORMAT ? 'a newer' : 'an older';
    super(`was written by ${by} version of Parley (format ${format})`);
    this.by = by;
  }
}

/** A statement that writes. */
export interface Writer {
  run(...values: SQLInputValue[]): StatementResultingChanges;
}

/**
 * One SQLite file with a journal before it. Statements run at once, in a transaction that stays open; what they were stands in the
 * journal, which is far less to write than the pages that they touch. When the journal is full SQLite commits, and after a
 * crash the statements that it had not committed are run again.
 */
export class SqliteFile {
  readonly sql: DatabaseSync;
  /** SQLite's own log, where its commits are. */
  readonly #log: number;
  readonly #journal: Journal;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #namePart: StatementSync;
  readonly #failed: (error: unknown) => void;
  /** What ran since the journal was written to. */
  #runs: Run[] = [];
  #isInTransaction = false;
  /** A commit that is on its way to the disk. */
  #committing: Promise<void> | undefined;

  constructor(path: string, failed: (error: unknown) => void) {
    this.sql = new DatabaseSync(path);
    this.#failed = failed;
    const version = Number(this.sql.prepare('PRAGMA user_version').get()?.user_version);
    if (version !== 0 && version !== FORMAT) throw new OtherFormat(version);
    // Records of 2 or 3 KB fill pages of 4 KB badly, and with 16 KB a single write drags along too much.
    // The lock is kept for good, so that a second process on the same file fails at once.
    this.sql.exec('PRAGMA page_size = 8192; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL');
    // NORMAL leaves the sync after a commit to us; SQLite still syncs around each checkpoint.
    this.sql.exec('PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 4096');
    this.sql.exec('PRAGMA journal_size_limit = 67108864');
    this.sql.exec(`BEGIN IMMEDIATE; ${SCHEMA} COMMIT`);
    this.#log = openSync(`${path}-wal`, 'r+');
    this.#begin = this.sql.prepare('BEGIN');
    this.#commit = this.sql.prepare('COMMIT');
    this.#namePart = this.sql.prepare('UPDATE journal SET part = ?, checksum = ?');
    const { part, checksum } = this.sql.prepare('SELECT part, checksum FROM journal').get() ?? {};
    this.#journal = new Journal(`${path}-log`, Number(part), Number(checksum));
    this.#runAgain();
    fdatasyncSync(this.#log);
  }

  /** What has to be in place before the first write; it is on the disk at once. */
  setUp(text: string): void {
    this.sql.exec(text);
    fdatasyncSync(this.#log);
  }

  writer(text: string): Writer {
    const statement = this.sql.prepare(text);
    return {
      run: (...values) => {
        if (!this.#isInTransaction) this.#start();
        this.#runs.push([text, ...values]);
        return statement.run(...values);
      },
    };
  }

  /**
   * Puts into the journal what has run since the last time: it survives this process from now on, and a power failure once the
   * file that is given back is synced. Nothing more may be kept before it is, where that must be.
   */
  keep(): { descriptor: number; mustSync: boolean } {
    const { descriptor } = this.#journal;
    if (this.#runs.length > 0) this.#journal.append(this.#runs);
    this.#runs = [];
    if (!this.#journal.isFull || this.#committing) return { descriptor, mustSync: false };
    this.#turn();
    this.#committing = this.#synced();
    return { descriptor, mustSync: true };
  }

  /** While the last commit is on its way to the disk. */
  get committing(): Promise<void> | undefined {
    return this.#committing;
  }

  /** Once all is kept that ran, and nothing is on its way. */
  close(): void {
    try {
      if (this.#isInTransaction) this.#turn();
      fdatasyncSync(this.#log);
    } finally {
      this.abandon();
    }
  }

  /** Where nothing more can be written. */
  abandon(): void {
    this.#journal.close();
    closeSync(this.#log);
    this.sql.close();
  }

  #start(): void {
    this.#begin.run();
    this.#isInTransaction = true;
  }

  /** SQLite commits, and names the next part of the journal as the one that it does not hold. */
  #turn(): void {
    this.#journal.turn();
    this.#namePart.run(this.#journal.part, this.#journal.checksum);
    this.#commit.run();
    this.#isInTransaction = false;
  }

  /** The next turn overwrites what led to this commit. */
  #synced(): Promise<void> {
    return new Promise((resolve) => {
      fdatasync(this.#log, (error) => {
        this.#committing = undefined;
        if (error) this.#failed(error);
        resolve();
      });
    });
  }

  /** What the journal holds of the part that SQLite names, and of the next one where the power failed before that commit was on the disk. */
  #runAgain(): void {
    const statements = new Map<string, StatementSync>();
    for (let runs = this.#journal.runs(); runs.length > 0; runs = this.#journal.runs()) {
      this.#start();
      for (const [text, ...values] of runs) {
        const statement = statements.get(text) ?? this.sql.prepare(text);
        statements.set(text, statement);
        statement.run(...values);
      }
      this.#turn();
    }
  }
}
