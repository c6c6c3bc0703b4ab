import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  writeSync,
} from 'node:fs';
import { crc32 } from 'node:zlib';

/** Two alternating headers, so that one is always intact, and the sync mark. */
export const FIRST_ENTRY_OFFSET = 4096;
/** Checksum, length, part, store, synced, previous checksum, number, magic. */
const ENTRY_HEADER_BYTES = 44;
const ENTRY_MAGIC_OFFSET = 40;

const HEADER_OFFSETS = [0, 512] as const;
const SYNC_MARK_OFFSET = 1024;
const FILE_MAGIC = Buffer.from('PARLEYJ5');
const ENTRY_MAGIC = Buffer.from('PjEn');
const ZEROS = Buffer.alloc(64 * 1024);

export interface JournalEntry {
  offset: number;
  endOffset: number;
  part: number;
  store: number;
  sequence: number;
  /** On disk up to here at the time of the write: a gap before it is damage, not a torn write. */
  synced: number;
  /** Checksum over all earlier entries, also of earlier parts. */
  previousChecksum: number;
  checksum: number;
  body: Buffer;
}

export interface JournalContent {
  state: 'missing' | 'empty' | 'unreadable' | 'readable';
  size: number;
  header?: { store: number; bytes: number; sequence: number };
  mark?: { part: number; store: number; synced: number };
  /** Includes entries behind damage and of earlier parts. */
  entries: JournalEntry[];
}

export const readJournalFile = (path: string): JournalContent => {
  const content = readFileIfExists(path);
  if (!content) return { state: 'missing', size: 0, entries: [] };
  const size = content.length;
  if (size === 0) return { state: 'empty', size, entries: [] };
  const header = findNewestHeader(content);
  return {
    state: header ? 'readable' : 'unreadable',
    size,
    header,
    mark: decodeSyncMark(content),
    entries: decodeEntries(content),
  };
};

/** Space is allocated on disk before any entry is written. */
export class JournalFile {
  readonly descriptor: number;
  readonly #store: number;
  #bytes: number;
  #sequence: number;

  private constructor(path: string, flags: number, store: number, sequence: number) {
    this.descriptor = openSync(path, flags);
    this.#store = store;
    this.#bytes = fstatSync(this.descriptor).size;
    this.#sequence = sequence;
  }

  static create(path: string, store: number): JournalFile {
    const file = new JournalFile(path, constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC, store, 0);
    file.growTo(FIRST_ENTRY_OFFSET);
    fdatasyncSync(file.descriptor);
    return file;
  }

  static open(path: string, store: number): JournalFile {
    const file = new JournalFile(path, constants.O_RDWR, store, 0);
    const head = Buffer.alloc(FIRST_ENTRY_OFFSET);
    readSync(file.descriptor, head, 0, FIRST_ENTRY_OFFSET, 0);
    file.#sequence = findNewestHeader(head)?.sequence ?? 0;
    return file;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Allocated before the header says so: a file shorter than its header was truncated. */
  growTo(bytes: number): void {
    try {
      for (let at = this.#bytes; at < bytes; )
        at += writeSync(this.descriptor, ZEROS, 0, Math.min(ZEROS.length, bytes - at), at);
      fdatasyncSync(this.descriptor);
    } catch (error) {
      ftruncateSync(this.descriptor, this.#bytes);
      throw error;
    }
    this.#bytes = bytes;
    this.#writeHeader();
  }

  shrinkTo(bytes: number): void {
    this.#bytes = bytes;
    this.#writeHeader();
    fdatasyncSync(this.descriptor);
    ftruncateSync(this.descriptor, bytes);
  }

  write(block: Buffer, at: number): void {
    for (let written = 0; written < block.length; ) {
      written += writeSync(this.descriptor, block, written, block.length - written, at + written);
    }
  }

  writeMark(part: number, synced: number): void {
    const mark = Buffer.alloc(28);
    mark.writeDoubleLE(part, 4);
    mark.writeDoubleLE(this.#store, 12);
    mark.writeDoubleLE(synced, 20);
    mark.writeUInt32LE(crc32(mark.subarray(4)), 0);
    this.write(mark, SYNC_MARK_OFFSET);
  }

  close(): void {
    closeSync(this.descriptor);
  }

  #writeHeader(): void {
    this.#sequence += 1;
    const header = Buffer.alloc(36);
    FILE_MAGIC.copy(header, 4);
    header.writeDoubleLE(this.#store, 12);
    header.writeDoubleLE(this.#bytes, 20);
    header.writeDoubleLE(this.#sequence, 28);
    header.writeUInt32LE(crc32(header.subarray(4)), 0);
    this.write(header, HEADER_OFFSETS[this.#sequence % 2 === 0 ? 0 : 1]);
  }
}

export const encodeEntry = (
  body: Buffer,
  head: Omit<JournalEntry, 'offset' | 'endOffset' | 'checksum' | 'body'>,
): Buffer => {
  const block = Buffer.allocUnsafe(ENTRY_HEADER_BYTES + body.length);
  block.writeUInt32LE(body.length, 4);
  block.writeDoubleLE(head.part, 8);
  block.writeDoubleLE(head.store, 16);
  block.writeDoubleLE(head.synced, 24);
  block.writeUInt32LE(head.previousChecksum, 32);
  block.writeUInt32LE(head.sequence, 36);
  ENTRY_MAGIC.copy(block, ENTRY_MAGIC_OFFSET);
  body.copy(block, ENTRY_HEADER_BYTES);
  block.writeUInt32LE(crc32(block.subarray(4), head.previousChecksum), 0);
  return block;
};

export const readChecksum = (block: Buffer): number => block.readUInt32LE(0);

/** POSIX: a new directory entry is durable only after an fsync of the directory. */
export const syncFolder = (folder: string): void => {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};

const findNewestHeader = (content: Buffer): JournalContent['header'] => {
  const headers = HEADER_OFFSETS.flatMap((offset) => decodeHeader(content, offset) ?? []);
  return headers.toSorted((one, other) => other.sequence - one.sequence)[0];
};

const decodeHeader = (content: Buffer, offset: number): JournalContent['header'] => {
  if (content.length < offset + 36) return undefined;
  const header = content.subarray(offset, offset + 36);
  if (!header.subarray(4, 12).equals(FILE_MAGIC) || header.readUInt32LE(0) !== crc32(header.subarray(4)))
    return undefined;
  return { store: header.readDoubleLE(12), bytes: header.readDoubleLE(20), sequence: header.readDoubleLE(28) };
};

const decodeSyncMark = (content: Buffer): JournalContent['mark'] => {
  const mark = content.subarray(SYNC_MARK_OFFSET, SYNC_MARK_OFFSET + 28);
  if (mark.length < 28 || mark.readUInt32LE(0) !== crc32(mark.subarray(4))) return undefined;
  return { part: mark.readDoubleLE(4), store: mark.readDoubleLE(12), synced: mark.readDoubleLE(20) };
};

const decodeEntries = (content: Buffer): JournalEntry[] => {
  const entries: JournalEntry[] = [];
  for (let at = FIRST_ENTRY_OFFSET; at >= 0; ) {
    const entry = decodeEntry(content, at);
    if (entry) entries.push(entry);
    at = entry ? entry.endOffset : findNextEntryOffset(content, at + 1);
  }
  return entries;
};

const findNextEntryOffset = (content: Buffer, from: number): number => {
  const magic = content.indexOf(ENTRY_MAGIC, from + ENTRY_MAGIC_OFFSET);
  return magic < 0 ? -1 : magic - ENTRY_MAGIC_OFFSET;
};

const decodeEntry = (content: Buffer, at: number): JournalEntry | undefined => {
  if (
    at + ENTRY_HEADER_BYTES > content.length ||
    !content.subarray(at + ENTRY_MAGIC_OFFSET, at + ENTRY_HEADER_BYTES).equals(ENTRY_MAGIC)
  )
    return undefined;
  const end = at + ENTRY_HEADER_BYTES + content.readUInt32LE(at + 4);
  if (end > content.length) return undefined;
  const before = content.readUInt32LE(at + 32);
  const checksum = content.readUInt32LE(at);
  if (crc32(content.subarray(at + 4, end), before) !== checksum) return undefined;
  return {
    offset: at,
    endOffset: end,
    part: content.readDoubleLE(at + 8),
    store: content.readDoubleLE(at + 16),
    sequence: content.readUInt32LE(at + 36),
    synced: content.readDoubleLE(at + 24),
    previousChecksum: before,
    checksum,
    body: content.subarray(at + ENTRY_HEADER_BYTES, end),
  };
};

const readFileIfExists = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
};
