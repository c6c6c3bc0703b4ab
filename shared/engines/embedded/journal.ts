import { fdatasyncSync } from 'node:fs';
import { dirname } from 'node:path';
import type { SQLInputValue } from 'node:sqlite';
import { deserialize, serialize } from 'node:v8';
import {
  encodeEntry,
  FIRST_ENTRY_OFFSET,
  type JournalEntry,
  JournalFile,
  readChecksum,
  syncFolder,
} from './journal-file.ts';

/** A statement that wrote something, and its values. */
export type RecordedRun = [statement: string, ...values: SQLInputValue[]];

/** After a crash so much is done again, give or take a group: some tenths of a second's work. */
const ROTATE_BYTES = 4 * 1024 * 1024;
const ROTATE_RUNS = 8192;
/** A file grows by so much at a time, and is synced when it does. */
const GROW_BYTES = 256 * 1024;
/** Room is made for no more of one part than this: where SQLite cannot commit for long, somebody has to make room. */
const MAX_BYTES = 4 * ROTATE_BYTES;

/** Of a new database. */
export const FIRST_POSITION = { part: 1, checksum: 0, end: FIRST_ENTRY_OFFSET, groups: 0, runs: 0 };

export const buildJournalPaths = (database: string): [string, string] => [`${database}-log-0`, `${database}-log-1`];

/** Where the journal goes on. */
export interface JournalPosition {
  store: number;
  part: number;
  /** Of everything before it. */
  checksum: number;
  end: number;
  /** How many groups, and how many statements, the part has so far. */
  groups: number;
  runs: number;
}

/** What was written, for whoever syncs it. */
export interface JournalTip {
  descriptor: number;
  part: number;
  end: number;
}

/**
 * What has been written to the database since it was last committed, one entry for each group. The parts of the journal, from one
 * commit to the next, stand in two files in turns: a part is overwritten by the one after the next. Only the part that the
 * database names and the one after it count; what else is found in the files is old.
 */
export class Journal {
  readonly #files: readonly [JournalFile, JournalFile];
  readonly #store: number;
  #part: number;
  #checksum: number;
  #end: number;
  #synced: number;
  #marked: number;
  #groups: number;
  #count: number;

  private constructor(
    files: readonly [JournalFile, JournalFile],
    { store, part, checksum, end, groups, runs }: JournalPosition,
  ) {
    this.#files = files;
    this.#store = store;
    this.#part = part;
    this.#checksum = checksum;
    this.#end = end;
    this.#synced = end;
    this.#marked = end;
    this.#groups = groups;
    this.#count = runs;
  }

  /** Two empty files, in the place of whatever was there. */
  static create(database: string, store: number): Journal {
    const [one, other] = buildJournalPaths(database);
    const files = [JournalFile.create(one, store), JournalFile.create(other, store)] as const;
    syncFolder(dirname(database));
    return new Journal(files, { ...FIRST_POSITION, store });
  }

  /** What was read may be in no more than the memory of the system that was to write it: it is on the disk now. */
  static resume(database: string, position: JournalPosition): Journal {
    const [one, other] = buildJournalPaths(database);
    const files = [JournalFile.open(one, position.store), JournalFile.open(other, position.store)] as const;
    for (const { descriptor } of files) fdatasyncSync(descriptor);
    return new Journal(files, position);
  }

  get part(): number {
    return this.#part;
  }

  get checksum(): number {
    return this.#checksum;
  }

  /** How many groups the current part has. */
  get groups(): number {
    return this.#groups;
  }

  /** What the current part is in, and how far it goes. */
  get tip(): JournalTip {
    return { descriptor: this.#file.descriptor, part: this.#part, end: this.#end };
  }

  get isFull(): boolean {
    return this.#end >= ROTATE_BYTES || this.#count >= ROTATE_RUNS;
  }

  hasCapacityFor(bytes: number): boolean {
    return this.#end + bytes <= this.#file.bytes;
  }

  /** Makes room for so many bytes in the current part, or throws and changes nothing. */
  reserve(bytes: number): void {
    growFile(this.#file, this.#end + bytes);
  }

  /** The same in the file of the next part. */
  reserveNext(bytes: number): void {
    growFile(this.#getFile(this.#part + 1), FIRST_ENTRY_OFFSET + bytes);
  }

  append(runs: RecordedRun[]): void {
    const file = this.#file;
    // What stands there is void, and a group that was far too large need not be kept room for.
    if (this.#end === FIRST_ENTRY_OFFSET && file.bytes > 2 * ROTATE_BYTES) file.shrinkTo(ROTATE_BYTES);
    const { part, checksum: before } = this;
    const block = encodeEntry(serialize(runs), {
      part,
      store: this.#store,
      sequence: this.#groups,
      synced: this.#synced,
      previousChecksum: before,
    });
    growFile(file, this.#end + block.length, Number.POSITIVE_INFINITY);
    file.write(block, this.#end);
    this.#end += block.length;
    this.#groups += 1;
    this.#count += runs.length;
    this.#checksum = readChecksum(block);
  }

  /** What was appended is on the disk. */
  markSynced({ part, end }: JournalTip): void {
    if (part === this.#part) this.#synced = Math.max(this.#synced, end);
  }

  /** Tells the file how far it is on the disk, where no entry has told it yet. */
  writeSyncMark(): void {
    if (this.#marked === this.#synced) return;
    this.#file.writeMark(this.#part, this.#synced);
    this.#marked = this.#synced;
  }

  /** The next part begins, in the other file. Gives back where this one ended. */
  rotate(): JournalPosition {
    const { part, checksum } = this;
    const ended = { store: this.#store, part, checksum, end: this.#end, groups: this.#groups, runs: this.#count };
    this.#setPosition({ ...FIRST_POSITION, part: part + 1 });
    return ended;
  }

  /** The next part does not begin after all; nothing has been written into it. */
  undoRotation(ended: JournalPosition): void {
    this.#setPosition(ended);
  }

  #setPosition({ part, end, groups, runs }: Omit<JournalPosition, 'store' | 'checksum'>): void {
    this.#part = part;
    this.#end = end;
    this.#synced = FIRST_ENTRY_OFFSET;
    this.#marked = FIRST_ENTRY_OFFSET;
    this.#groups = groups;
    this.#count = runs;
  }

  close(): void {
    for (const file of this.#files) file.close();
  }

  get #file(): JournalFile {
    return this.#getFile(this.#part);
  }

  #getFile(part: number): JournalFile {
    return this.#files[part % 2 === 0 ? 0 : 1];
  }
}

export const decodeRuns = ({ body }: JournalEntry): RecordedRun[] => deserialize(body);

const growFile = (file: JournalFile, end: number, most = MAX_BYTES): void => {
  if (end <= file.bytes) return;
  if (end > most) throw new JournalFullError('the journal has no more room until SQLite has committed');
  file.growTo(Math.ceil(end / GROW_BYTES) * GROW_BYTES);
};

/** There is no room for what is to be written, and nothing of it has been. */
export class JournalFullError extends Error {
  readonly code = 'ENOSPC';
}
