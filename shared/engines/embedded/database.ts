import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { ParleyError } from '../../errors.ts';

/** Raised with every change of what is written; a new file has 0. */
const FORMAT = 3;

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

/** For how many turns of the event loop a group stays open at the most while each of them brings more to it. */
const MAX_TURNS = 4;

/** A request and the claim that it wakes: where no more wait for the disk, nothing else is going on. */
const FEW = 2;

/** What ran together and is committed together. */
interface Group {
  operations: number;
  /** How many of its callers wait for the disk. */
  callers: number;
  done: Promise<void>;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * One SQLite file with one writer: this process. Operations run at once, in the order of their calls, inside a transaction
 * that stays open while the event loop handles what has arrived. They are then committed together, and one sync of the log,
 * off the main thread, makes all commits before it durable. Whoever called learns the answer only after that, so that
 * no answer shows what a power failure could take back, but for what follows from a durable write and would come again.
 */
export class Database {
  readonly sql: DatabaseSync;
  /** Called once, when the disk no longer takes what is written. */
  onFailure: (error: unknown) => void = () => {};
  readonly #log: number;
  readonly #beginStatement: StatementSync;
  readonly #commitStatement: StatementSync;
  #open: Group | undefined;
  /** Committed, and on its way to the disk. */
  #syncing: Group | undefined;
  #failure: unknown;
  #beforeCommit: (() => void)[] = [];
  #afterCommit: (() => void)[] = [];

  constructor(file: string) {
    this.sql = new DatabaseSync(file);
    const version = Number(this.sql.prepare('PRAGMA user_version').get()?.user_version);
    if (version !== 0 && version !== FORMAT) throw new OtherFormat(version);
    // Records of 2 or 3 KB fill pages of 4 KB badly, and with 16 KB a single write drags along too much.
    // The lock is kept for good, so that a second process on the same file fails at once.
    this.sql.exec('PRAGMA page_size = 8192; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL');
    // NORMAL leaves the sync after a commit to us; SQLite still syncs around each checkpoint.
    this.sql.exec('PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 4096');
    this.sql.exec(`BEGIN IMMEDIATE; ${SCHEMA} COMMIT`);
    this.#log = openSync(`${file}-wal`, 'r+');
    this.#beginStatement = this.sql.prepare('BEGIN');
    this.#commitStatement = this.sql.prepare('COMMIT');
  }

  /** Runs a write now; resolves when it is on the disk. */
  write<T>(operation: () => T): Promise<T> {
    return this.#run(true, operation);
  }

  /** Runs a write now; resolves when it is committed. A power failure could take it back, a crash of the process not. */
  writeUnsynced<T>(operation: () => T): Promise<T> {
    return this.#run(false, operation);
  }

  /**
   * Runs a write now that follows from another one, and would be repeated should it be lost: nobody waits for it. The log
   * keeps the order of writes, so that whatever acknowledges it later cannot outlive it.
   */
  writeSoon<T>(operation: () => T): T {
    if (this.#failure !== undefined) throw this.#broken();
    try {
      this.#join(false);
      return operation();
    } catch (error) {
      throw this.fail(error);
    }
  }

  /** Runs a read now; resolves when everything that it saw is on the disk. */
  async read<T>(operation: () => T): Promise<T> {
    const result = this.readSoon(operation);
    await this.settled();
    return result;
  }

  /** Runs a read now. A power failure could take back what it saw. */
  readSoon<T>(operation: () => T): T {
    if (this.#failure !== undefined) throw this.#broken();
    return this.#attempt(operation);
  }

  /** Once everything that somebody waits for is on the disk. */
  async settled(): Promise<void> {
    const last = this.#open && this.#open.callers > 0 ? this.#open : this.#syncing;
    if (last) await last.done;
  }

  /** Runs as the last thing in the open transaction, for what is best written for all of it at once. */
  beforeCommit(action: () => void): void {
    this.#beforeCommit.push(action);
  }

  /** Where the file itself fails a read, all is over; what the operation refuses is thrown as it is. */
  #attempt<T>(operation: () => T): T {
    try {
      return operation();
    } catch (error) {
      throw error instanceof Error && 'errcode' in error ? this.fail(error) : error;
    }
  }

  /** Also for what is kept beside the file, on the same disk. */
  fail(error: unknown): ParleyError {
    this.#fail(error);
    return this.#broken();
  }

  /** Runs once the open transaction has been committed, or at once where there is none. */
  afterCommit(action: () => void): void {
    if (this.#open) this.#afterCommit.push(action);
    else action();
  }

  /** Once everything that was begun is on the disk. */
  async close(): Promise<void> {
    for (let last = this.#last(); last; last = this.#last()) await last.done.catch(() => {});
    closeSync(this.#log);
    this.sql.close();
  }

  #last(): Group | undefined {
    return this.#open ?? this.#syncing;
  }

  async #run<T>(isDurable: boolean, operation: () => T): Promise<T> {
    if (this.#failure !== undefined) throw this.#broken();
    try {
      const group = this.#join(isDurable);
      const result = operation();
      await group.done;
      return result;
    } catch (error) {
      this.#fail(error);
      throw this.#broken();
    }
  }

  #join(isDurable: boolean): Group {
    if (!this.#open) {
      this.#beginStatement.run();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      promise.catch(() => {});
      this.#open = { operations: 0, callers: 0, done: promise, resolve, reject };
      // Whoever waits for the disk waits for the sync under way anyhow: until it ends, more can join.
      if (!this.#syncing) this.#commitSoon();
    }
    this.#open.operations += 1;
    if (isDurable) this.#open.callers += 1;
    return this.#open;
  }

  /** Once a turn of the event loop has brought nothing more: where little happens that is the next one, and takes no time. */
  #commitSoon(turns = 1, before = 0): void {
    setImmediate(() => {
      const operations = this.#open?.operations ?? 0;
      if (turns < MAX_TURNS && operations > before) this.#commitSoon(turns + 1, operations);
      else this.#commit();
    });
  }

  #commit(): void {
    const group = this.#open;
    if (!group) return;
    try {
      for (const action of this.#beforeCommit.splice(0)) action();
      this.#commitStatement.run();
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#open = undefined;
    if (group.callers === 0) group.resolve();
    else if (group.callers <= FEW) this.#syncAtOnce(group);
    else this.#sync(group);
    for (const action of this.#afterCommit.splice(0)) action();
  }

  #sync(group: Group): void {
    this.#syncing = group;
    fdatasync(this.#log, (error) => {
      if (error) return this.#fail(error);
      this.#syncing = undefined;
      group.resolve();
      // What follows from the answers may join what has gathered meanwhile.
      if (this.#open) this.#commitSoon();
    });
  }

  /** Where few wait, nobody is held up, and handing the sync to another thread would take half as long again. */
  #syncAtOnce(group: Group): void {
    try {
      fdatasyncSync(this.#log);
      group.resolve();
    } catch (error) {
      group.reject(error);
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    for (const group of [this.#syncing, this.#open]) group?.reject(this.#broken());
    this.#syncing = undefined;
    this.#open = undefined;
    this.onFailure(error);
  }

  #broken(): ParleyError {
    const message = 'The storage failed, and nothing more is accepted until it is mended.';
    return new ParleyError('storage_unavailable', message, { cause: this.#failure });
  }
}
