import { closeSync, constants, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { SQLInputValue } from 'node:sqlite';
import { deserialize, serialize } from 'node:v8';
import { crc32 } from 'node:zlib';

/** A statement that wrote something, and its values. */
export type Run = [statement: string, ...values: SQLInputValue[]];

/** After a crash so much is done again, give or take a group: some tenths of a second's work. */
const FULL_BYTES = 4 * 1024 * 1024;
const FULL_RUNS = 8192;
/** A file grows by so much at a time, because a sync takes half as long again where it has grown. */
const STEP_BYTES = 256 * 1024;
/** Before each entry: its length, its checksum and its part. The checksum is over all entries up to it, of the parts before it too. */
const HEAD_BYTES = 16;

/**
 * What has been written to the database since it was last committed, one entry for each group. The parts of the journal, from one
 * commit to the next, stand in two files in turns: a part is overwritten by the one after the next. Only the part that the
 * database names and the one after it count; what else is found in the files is old.
 */
export class Journal {
  readonly #files: readonly [JournalFile, JournalFile];
  #part: number;
  #checksum: number;
  #end = 0;
  #count = 0;

  /** For the part that the database names, and the checksum of all parts before it. */
  constructor(path: string, part: number, checksum: number) {
    this.#files = [opened(`${path}-0`), opened(`${path}-1`)];
    this.#part = part;
    this.#checksum = checksum;
    syncFolder(dirname(path));
  }

  get part(): number {
    return this.#part;
  }

  get checksum(): number {
    return this.#checksum;
  }

  /** Of the file that the current part is in. */
  get descriptor(): number {
    return this.#file.descriptor;
  }

  get isFull(): boolean {
    return this.#end >= FULL_BYTES || this.#count >= FULL_RUNS;
  }

  /** What stands in the current part, up to the first entry that is not whole, or that does not follow what was read before. */
  runs(): Run[] {
    const content = contentOf(this.#file);
    const runs: Run[] = [];
    for (let at = 0; ; ) {
      const entry = entryAt(content, at, this.#part, this.#checksum);
      if (!entry) return runs;
      this.#checksum = crc32(entry, this.#checksum);
      for (const run of deserialize(entry)) runs.push(run);
      at += HEAD_BYTES + entry.length;
    }
  }

  append(runs: Run[]): void {
    const entry = serialize(runs);
    const bytes = HEAD_BYTES + entry.length;
    const file = this.#file;
    // What stands there is void, and a group that was far too large need not be kept room for.
    if (this.#end === 0 && file.bytes > 2 * FULL_BYTES) shrink(file);
    const checksum = crc32(entry, this.#checksum);
    const end = this.#end + bytes;
    const grown = end > file.bytes ? Math.ceil(end / STEP_BYTES) * STEP_BYTES : file.bytes;
    const block = Buffer.alloc(grown > file.bytes ? grown - this.#end : bytes);
    block.writeUInt32LE(entry.length, 0);
    block.writeUInt32LE(checksum, 4);
    block.writeDoubleLE(this.#part, 8);
    entry.copy(block, HEAD_BYTES);
    for (let written = 0; written < block.length; ) {
      written += writeSync(file.descriptor, block, written, block.length - written, this.#end + written);
    }
    file.bytes = grown;
    this.#end = end;
    this.#count += runs.length;
    this.#checksum = checksum;
  }

  /** The next part begins, in the other file. */
  turn(): void {
    this.#part += 1;
    this.#end = 0;
    this.#count = 0;
  }

  close(): void {
    for (const { descriptor } of this.#files) closeSync(descriptor);
  }

  get #file(): JournalFile {
    return this.#files[this.#part % 2 === 0 ? 0 : 1];
  }
}

interface JournalFile {
  readonly descriptor: number;
  bytes: number;
}

const opened = (path: string): JournalFile => {
  const descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT);
  return { descriptor, bytes: fstatSync(descriptor).size };
};

const shrink = (file: JournalFile): void => {
  ftruncateSync(file.descriptor, FULL_BYTES);
  file.bytes = FULL_BYTES;
};

/** A new name in a folder is durable only when the folder is. */
const syncFolder = (folder: string): void => {
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
};

const contentOf = ({ descriptor, bytes }: JournalFile): Buffer => {
  const content = Buffer.alloc(bytes);
  for (let read = 0; read < bytes; ) {
    const more = readSync(descriptor, content, read, bytes - read, read);
    if (more === 0) break;
    read += more;
  }
  return content;
};

const entryAt = (content: Buffer, at: number, part: number, before: number): Buffer | undefined => {
  const start = at + HEAD_BYTES;
  if (start > content.length || content.readDoubleLE(at + 8) !== part) return undefined;
  const entry = content.subarray(start, start + content.readUInt32LE(at));
  const isWhole = entry.length === content.readUInt32LE(at) && crc32(entry, before) === content.readUInt32LE(at + 4);
  return isWhole ? entry : undefined;
};
