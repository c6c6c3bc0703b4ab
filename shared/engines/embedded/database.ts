import { fdatasync, fdatasyncSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { ParleyError } from '../../kernel/errors.ts';
import {
  type FlushedGroup,
  type RecordedStatement,
  SqliteFile,
  type StorageOptions,
  type WriteOrigin,
} from './sqlite-file.ts';

/** For how many turns of the event loop a group stays open at the most while each of them brings more to it. */
const MAX_COMMIT_DELAY_TURNS = 4;

/** A request and the claim that it wakes: where no more wait for the disk, nothing else is going on. */
const SYNC_INLINE_CALLERS = 2;

/** When to come again where the disk is full: somebody has to make room. */
const FULL_RETRY_SECONDS = 5;

/** What ran together and goes into the journal together. */
interface CommitGroup {
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
  /** Called when the disk is full, and when there is room again. */
  onCapacityChange: (hasRoom: boolean) => void = () => {};
  readonly #file: SqliteFile;
  #openGroup: CommitGroup | undefined;
  /** In the journal, and on its way to the disk. */
  #syncingGroup: CommitGroup | undefined;
  #failure: unknown;
  #isFull = false;
  #closing: Promise<void> | undefined;
  #beforeCommit: (() => void)[] = [];
  #afterCommit: (() => void)[] = [];

  constructor(path: string, options?: StorageOptions) {
    this.#file = new SqliteFile(path, (error) => this.#recordFailure(error), options);
  }

  /** For reading. */
  get sql(): DatabaseSync {
    return this.#file.sql;
  }

  /** A statement that writes: it runs within a write. */
  prepareWrite(text: string): RecordedStatement {
    return this.#file.prepareWrite(text);
  }

  holdCheckpoints(): () => void {
    return this.#file.holdCheckpoints();
  }

  onBeforeRotation(action: () => void): void {
    const others = this.#file.onBeforeRotation;
    this.#file.onBeforeRotation = () => {
      others();
      action();
    };
  }

  runDerived(statement: StatementSync, ...values: SQLInputValue[]): void {
    this.#file.runDerived(statement, ...values);
  }

  takeReplayedRecords(): number[] {
    return this.#file.takeReplayedRecords();
  }

  /** Runs a write now; resolves when it is on the disk. */
  write<T>(operation: () => T): Promise<T> {
    return this.#runWrite('request', true, operation);
  }

  /** Runs a write now; resolves when it is in the journal. A power failure could take it back, a crash of the process not. */
  writeUnsynced<T>(operation: () => T): Promise<T> {
    return this.#runWrite('following', false, operation);
  }

  /**
   * Runs a write now that follows from another one, and would be repeated should it be lost: nobody waits for it. The journal
   * keeps the order of writes, so that whatever acknowledges it later cannot outlive it.
   */
  writeAsync<T>(operation: () => T): T {
    this.assertCapacity('following');
    try {
      this.#joinGroup(false);
      return operation();
    } catch (error) {
      throw this.recordFailure(error);
    }
  }

  /** For what has to be in place before anything else: it is on the disk at once. */
  writeSync(operation: () => void): void {
    this.assertCapacity('following');
    operation();
    const kept = this.#file.flush();
    fdatasyncSync(kept.descriptor);
    this.#file.markSynced(kept);
  }

  /** Throws where a write cannot be taken: before any of it has run. */
  assertCapacity(origin: WriteOrigin): void {
    if (this.#failure !== undefined) throw this.#storageFailedError();
    const hasRoom = this.#hasCapacityFor(origin);
    // What follows from others has room for longer, and says nothing of requests.
    if (!hasRoom !== this.#isFull && !(hasRoom && origin === 'following')) {
      this.#isFull = !hasRoom;
      this.onCapacityChange(hasRoom);
    }
    if (!hasRoom) throw storageFullError();
  }

  #hasCapacityFor(origin: WriteOrigin): boolean {
    try {
      return this.#file.hasCapacityFor(origin);
    } catch (error) {
      throw this.recordFailure(error);
    }
  }

  /** Runs a read now; resolves when everything that it saw is on the disk. */
  async read<T>(operation: () => T): Promise<T> {
    const result = this.readUnsynced(operation);
    const last = this.#lastDurableGroup;
    if (last) await last.done;
    return result;
  }

  /** Runs a read now. A power failure could take back what it saw. */
  readUnsynced<T>(operation: () => T): T {
    if (this.#failure !== undefined) throw this.#storageFailedError();
    return this.#runRead(operation);
  }

  /** Once everything that somebody waits for is on the disk. */
  async waitForSync(): Promise<void> {
    await this.#lastDurableGroup?.done;
  }

  get #lastDurableGroup(): CommitGroup | undefined {
    return this.#openGroup && this.#openGroup.callers > 0 ? this.#openGroup : this.#syncingGroup;
  }

  /** Runs as the last thing in the open group, for what is best written for all of it at once. */
  onBeforeCommit(action: () => void): void {
    this.#beforeCommit.push(action);
  }

  /** Where the file itself fails a read, all is over; what the operation refuses is thrown as it is. */
  #runRead<T>(operation: () => T): T {
    try {
      return operation();
    } catch (error) {
      throw error instanceof Error && 'errcode' in error ? this.recordFailure(error) : error;
    }
  }

  /** Also for what is kept beside the file, on the same disk. */
  recordFailure(error: unknown): ParleyError {
    this.#recordFailure(error);
    return this.#storageFailedError();
  }

  /** Runs once the open group is in the journal, or at once where there is none. */
  onAfterCommit(action: () => void): void {
    if (this.#openGroup) this.#afterCommit.push(action);
    else action();
  }

  /** Once everything that was begun is on the disk. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (let last = this.#getPending(); last; last = this.#getPending()) await last.catch(() => {});
    if (this.#failure !== undefined) return this.#file.abandon();
    try {
      this.#file.close();
      this.#failure = new Error('the database is closed');
    } catch (error) {
      this.#recordFailure(error);
    }
  }

  #getPending(): Promise<void> | undefined {
    return (this.#openGroup ?? this.#syncingGroup)?.done ?? this.#file.pendingCommit;
  }

  async #runWrite<T>(origin: WriteOrigin, isDurable: boolean, operation: () => T): Promise<T> {
    this.assertCapacity(origin);
    try {
      const group = this.#joinGroup(isDurable);
      const result = operation();
      await group.done;
      return result;
    } catch (error) {
      this.#recordFailure(error);
      throw this.#storageFailedError();
    }
  }

  #joinGroup(isDurable: boolean): CommitGroup {
    if (!this.#openGroup) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      promise.catch(() => {});
      this.#openGroup = { operations: 0, callers: 0, done: promise, resolve, reject };
      // Whoever waits for the disk waits for the sync under way anyhow: until it ends, more can join.
      if (!this.#syncingGroup) this.#scheduleCommit();
    }
    this.#openGroup.operations += 1;
    if (isDurable) this.#openGroup.callers += 1;
    return this.#openGroup;
  }

  /** Once a turn of the event loop has brought nothing more: where little happens that is the next one, and takes no time. */
  #scheduleCommit(turns = 1, before = 0): void {
    setImmediate(() => {
      const operations = this.#openGroup?.operations ?? 0;
      if (turns < MAX_COMMIT_DELAY_TURNS && operations > before) this.#scheduleCommit(turns + 1, operations);
      else this.#commit();
    });
  }

  #commit(): void {
    const group = this.#openGroup;
    if (!group) return;
    let kept: FlushedGroup;
    try {
      for (const action of this.#beforeCommit.splice(0)) action();
      kept = this.#file.flush();
    } catch (error) {
      this.#recordFailure(error);
      return;
    }
    this.#openGroup = undefined;
    if (group.callers > SYNC_INLINE_CALLERS) this.#sync(group, kept);
    else if (group.callers > 0 || kept.mustSync) this.#syncInline(group, kept);
    else group.resolve();
    for (const action of this.#afterCommit.splice(0)) action();
  }

  #sync(group: CommitGroup, kept: FlushedGroup): void {
    this.#syncingGroup = group;
    fdatasync(kept.descriptor, (error) => {
      if (error) return this.#recordFailure(error);
      // Whoever waited has been told, and the file may be closed.
      if (this.#failure !== undefined) return;
      this.#file.markSynced(kept);
      this.#syncingGroup = undefined;
      group.resolve();
      // What follows from the answers may join what has gathered meanwhile.
      if (this.#openGroup) this.#scheduleCommit();
    });
  }

  /** Where few wait, nobody is held up, and handing the sync to another thread would take half as long again. */
  #syncInline(group: CommitGroup, kept: FlushedGroup): void {
    try {
      fdatasyncSync(kept.descriptor);
      this.#file.markSynced(kept);
      group.resolve();
    } catch (error) {
      group.reject(error);
      this.#recordFailure(error);
    }
  }

  #recordFailure(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    for (const group of [this.#syncingGroup, this.#openGroup]) group?.reject(this.#storageFailedError());
    this.#syncingGroup = undefined;
    this.#openGroup = undefined;
    this.onFailure(error);
  }

  #storageFailedError(): ParleyError {
    const message = 'The storage failed, and nothing more is accepted until it is mended.';
    return new ParleyError('storage_unavailable', message, { cause: this.#failure });
  }
}

/** For what is kept beside the file too. */
export const storageFullError = (): ParleyError =>
  new ParleyError(
    'storage_full',
    'The disk is full, and nothing more is accepted until there is room. Try again later.',
    {
      details: { retryAfterSeconds: FULL_RETRY_SECONDS },
    },
  );
