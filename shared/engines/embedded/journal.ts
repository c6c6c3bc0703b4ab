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

export type RecordedRun = [statement: string, ...values: SQLInputValue[]];

/** Replayed after a crash: some tenths of a second for 4 MB. */
const ROTATE_BYTES = 4 * 1024 * 1024;
const ROTATE_RUNS = 8192;
const GROW_BYTES = 256 * 1024;
/** The limit of one part if SQLite cannot commit for long. */
const MAX_BYTES = 4 * ROTATE_BYTES;

export const FIRST_POSITION = { part: 1, checksum: 0, end: FIRST_ENTRY_OFFSET, groups: 0, runs: 0 };

export const buildJournalPaths = (database: string): [string, string] => [`${database}-log-0`, `${database}-log-1`];

export interface JournalPosition {
  store: number;
  part: number;
  checksum: number;
  end: number;
  groups: number;
  runs: number;
}

export interface JournalTip {
  descriptor: number;
  part: number;
  end: number;
}

/**
 * The writes since SQLite's last commit, one entry per group. Parts alternate between two files. Only the part that the
 * database names and the following one count.
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

  static create(database: string, store: number): Journal {
    const [one, other] = buildJournalPaths(database);
    const files = [JournalFile.create(one, store), JournalFile.create(other, store)] as const;
    syncFolder(dirname(database));
    return new Journal(files, { ...FIRST_POSITION, store });
  }

  /** Syncs first: the data read may so far be only in the page cache. */
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

  get groups(): number {
    return this.#groups;
  }

  get tip(): JournalTip {
    return { descriptor: this.#file.descriptor, part: this.#part, end: this.#end };
  }

  get isFull(): boolean {
    return this.#end >= ROTATE_BYTES || this.#count >= ROTATE_RUNS;
  }

  hasCapacityFor(bytes: number): boolean {
    return this.#end + bytes <= this.#file.bytes;
  }

  /** Throws and changes nothing if there is no space. */
  reserve(bytes: number): void {
    growFile(this.#file, this.#end + bytes);
  }

  reserveNext(bytes: number): void {
    growFile(this.#getFile(this.#part + 1), FIRST_ENTRY_OFFSET + bytes);
  }

  /** Takes the runs: they are empty afterwards. */
  append(runs: RecordedRun[]): void {
    const file = this.#file;
    // A huge group need not keep its space.
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
    // The serializer holds each array until it is collected itself, and with it 8 KB of text for each task cycle.
    for (const run of runs) emptyArray(run);
    emptyArray(runs);
  }

  markSynced({ part, end }: JournalTip): void {
    if (part === this.#part) this.#synced = Math.max(this.#synced, end);
  }

  writeSyncMark(): void {
    if (this.#marked === this.#synced) return;
    this.#file.writeMark(this.#part, this.#synced);
    this.#marked = this.#synced;
  }

  rotate(): JournalPosition {
    const { part, checksum } = this;
    const ended = { store: this.#store, part, checksum, end: this.#end, groups: this.#groups, runs: this.#count };
    this.#setPosition({ ...FIRST_POSITION, part: part + 1 });
    return ended;
  }

  /** Allowed only if nothing has been written into the new part. */
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

const emptyArray = (array: unknown[]): void => {
  array.length = 0;
};

const growFile = (file: JournalFile, end: number, most = MAX_BYTES): void => {
  if (end <= file.bytes) return;
  if (end > most) throw new JournalFullError('the journal has no more room until SQLite has committed');
  file.growTo(Math.ceil(end / GROW_BYTES) * GROW_BYTES);
};

class JournalFullError extends Error {
  readonly code = 'ENOSPC';
}
