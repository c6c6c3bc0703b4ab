import { fdatasync, fdatasyncSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { ParleyError } from '../../errors.ts';
import { SqliteFile, type Writer } from './sqlite-file.ts';

/** For how many turns of the event loop a group stays open at the most while each of them brings more to it. */
const MAX_TURNS = 4;

/** A request and the claim that it wakes: where no more wait for the disk, nothing else is going on. */
const FEW = 2;

/** What ran together and goes into the journal together. */
interface Group {
  operations: number;
  /** How many of its callers wait for the disk. */
  callers: number;
  done: Promise<void>;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * The one writer of a file: this process. Operations run at once, in the order of their calls. What ran while the event
 * loop handled what had arrived goes into the journal together, and one sync of the journal, off the main thread, makes all of it
 * durable that was there before. Whoever called learns the answer only after that, so that no answer shows what a power failure
 * could take back, but for what follows from a durable write and would come again.
 */
export class Database {
  /** Called once, when the disk no longer takes what is written. */
  onFailure: (error: unknown) => void = () => {};
  readonly #file: SqliteFile;
  #open: Group | undefined;
  /** In the journal, and on its way to the disk. */
  #syncing: Group | undefined;
  #failure: unknown;
  #closing: Promise<void> | undefined;
  #beforeCommit: (() => void)[] = [];
  #afterCommit: (() => void)[] = [];

  constructor(path: string) {
    this.#file = new SqliteFile(path, (error) => this.#fail(error));
  }

  /** For reading. */
  get sql(): DatabaseSync {
    return this.#file.sql;
  }

  /** What has to be in place before the first write; it is on the disk at once. */
  setUp(text: string): void {
    this.#file.setUp(text);
  }

  /** A statement that writes: it runs within a write. */
  writer(text: string): Writer {
    return this.#file.writer(text);
  }

  /** Runs a write now; resolves when it is on the disk. */
  write<T>(operation: () => T): Promise<T> {
    return this.#run(true, operation);
  }

  /** Runs a write now; resolves when it is in the journal. A power failure could take it back, a crash of the process not. */
  writeUnsynced<T>(operation: () => T): Promise<T> {
    return this.#run(false, operation);
  }

  /**
   * Runs a write now that follows from another one, and would be repeated should it be lost: nobody waits for it. The journal
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

  /** Runs as the last thing in the open group, for what is best written for all of it at once. */
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

  /** Runs once the open group is in the journal, or at once where there is none. */
  afterCommit(action: () => void): void {
    if (this.#open) this.#afterCommit.push(action);
    else action();
  }

  /** Once everything that was begun is on the disk. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (let last = this.#underWay(); last; last = this.#underWay()) await last.catch(() => {});
    if (this.#failure !== undefined) return this.#file.abandon();
    try {
      this.#file.close();
      this.#failure = new Error('the database is closed');
    } catch (error) {
      this.#fail(error);
    }
  }

  #underWay(): Promise<void> | undefined {
    return (this.#open ?? this.#syncing)?.done ?? this.#file.committing;
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
    let kept: { descriptor: number; mustSync: boolean };
    try {
      for (const action of this.#beforeCommit.splice(0)) action();
      kept = this.#file.keep();
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#open = undefined;
    if (group.callers > FEW) this.#sync(group, kept.descriptor);
    else if (group.callers > 0 || kept.mustSync) this.#syncAtOnce(group, kept.descriptor);
    else group.resolve();
    for (const action of this.#afterCommit.splice(0)) action();
  }

  #sync(group: Group, descriptor: number): void {
    this.#syncing = group;
    fdatasync(descriptor, (error) => {
      if (error) return this.#fail(error);
      this.#syncing = undefined;
      group.resolve();
      // What follows from the answers may join what has gathered meanwhile.
      if (this.#open) this.#commitSoon();
    });
  }

  /** Where few wait, nobody is held up, and handing the sync to another thread would take half as long again. */
  #syncAtOnce(group: Group, descriptor: number): void {
    try {
      fdatasyncSync(descriptor);
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
